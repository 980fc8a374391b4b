// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/svg.h>

#include <string>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The variables of the page's colours in one of the two modes.
inline std::string page_colours(const char* ChartColour::*mode, const std::string& soft,
                                const std::string& warning, const std::string& link) {
  return std::string(":root{--paper:") + chart_paper.*mode + ";--ink:" + chart_ink.*mode +
         ";--faint:" + chart_faint_ink.*mode + ";--line:" + chart_grid.*mode + ";--soft:" + soft +
         ";--warning:" + warning + ";--link:" + link + "}\n";
}

/// The style sheet of a report as a page: light and dark, for wide and narrow screens and paper.
inline std::string page_style() {
  // Dark on a screen only: paper is light.
  return page_colours(&ChartColour::light, "#f4f5f7", "#8a3800", "#0067a8") +
         "@media screen and (prefers-color-scheme:dark){\n" +
         page_colours(&ChartColour::dark, "#1e232b", "#f0a030", "#5cbcf0") + "}\n" +
         R"css(*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.5;
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1.25rem 3rem}
h1{font-size:1.6rem;line-height:1.25;margin:0}
h2{font-size:1.2rem;margin:2.5rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0 0 .5rem}
p,ul{margin:.5rem 0;max-width:46rem}
a{color:var(--link)}
h1,h2,h3,p,li,td,th{overflow-wrap:break-word}
.subtitle,.note,footer{color:var(--faint)}
.verdict{margin:1.25rem 0;padding:.75rem 1.25rem;background:var(--soft);border-left:4px solid var(--link)}
.verdict p{font-size:1.125rem}
.warnings{margin:1.25rem 0;padding:.75rem 1.25rem;border:1px solid var(--warning);border-left-width:4px}
.warnings h2,.answers h2{font-size:1rem;margin:0;padding:0;border:0}
.warnings h2{color:var(--warning)}
.answers{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1rem 2.5rem}
.scroll{overflow-x:auto;margin:.75rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;min-width:min(20rem,100%)}
caption{text-align:left;color:var(--faint);padding:.25rem 0}
th,td{padding:.35rem .75rem;text-align:right;vertical-align:top;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left;padding-left:0}
tbody th{font-weight:400;overflow-wrap:anywhere;min-width:6rem}
.texts td{text-align:left;overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(27rem,100%),1fr));gap:2.5rem 2rem}
figure{margin:0;min-width:0;max-width:40rem}
figure svg{display:block;width:100%;height:auto}
summary{cursor:pointer;color:var(--link);padding:.25rem 0}
footer{margin-top:2.5rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.875rem}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
@media (max-width:30rem){main{padding:1rem 1rem 2rem}th,td{padding:.35rem .4rem}table{font-size:.9rem}}
@media print{main{max-width:none;padding:0}figure,tr,.verdict,.warnings{break-inside:avoid}
h2,h3{break-after:avoid}details:not([open]){display:none}
.charts{grid-template-columns:1fr 1fr}}
)css";
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
