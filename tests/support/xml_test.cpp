// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/xml.h"

#include "support/doctest.h"

#include <string>

TEST_CASE("The reader of XML in the tests finds elements, attributes and text") {
  const Xml xml("<a id=\"x\">\n<b class=\"one two\">1 &lt; 2</b><c/></a>\n");

  CHECK(xml.error() == "");
  CHECK(xml.elements().size() == 3);
  CHECK(xml.with_class("two").at(0).text == "1 &lt; 2");
  CHECK(xml.with_class("tw").empty());
  CHECK(xml.with_tag("a").at(0).attribute("id") == "x");
}

TEST_CASE("The reader of XML in the tests refuses what is not well-formed") {
  for (const char* wrong : {"",
                            "text",
                            "<a>",
                            "</a>",
                            "<a></b>",
                            "<a><b></a></b>",
                            "<a/><b/>",
                            "<a/>text",
                            "<a b=1/>",
                            "<a b='1'/>",
                            "<a b/>",
                            "<a b=\"1\"c=\"2\"/>",
                            "<a b=\"1\" b=\"1\"/>",
                            "<a b=\"<\"/>",
                            "<a b=\"",
                            "<a",
                            "<a>&</a>",
                            "<a>&nbsp;</a>",
                            "<a b=\"&x\"/>",
                            "<a>\x01</a>",
                            "<a>1 < 2</a>",
                            "<a><b id=\"x\"/><b id=\"x\"/></a>",
                            "<a aria-labelledby=\"x\"/>",
                            "<a fill=\"url(#x)\"/>",
                            "<!-- --><a/>"}) {
    CAPTURE(wrong);
    CHECK(Xml(wrong).error() != "");
  }
}
