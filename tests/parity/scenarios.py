# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""What both sides train: each scenario is said once, here, and handed to train.py and train.cpp as JSON.

A scenario belongs to a family; ctest has one entry a family. Nothing is left to defaults in the JSON, so
that neither side has any. "within": how far apart numbers may be; 0 asks for the same bits. Torch is not imported here.
"""
import json
import random

SCALER = {"enabled": True, "init_scale": 1024.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2}
FLOAT32, BFLOAT16, FLOAT16 = ("training_in_%s_is_equal_bit_for_bit" % name for name in ("float32", "bfloat16", "float16"))
REGIONS = ("none", "bfloat16", "float16")  # dtypes of the autocast region; none: no region
VALUES = ("inf", "-inf", "nan")


def linear(inputs, outputs, module=False):
    return {"kind": "linear", "in": inputs, "out": outputs, "module": module}


def conv(inputs, outputs):
    return {"kind": "conv2d", "in": inputs, "out": outputs, "kernel": 3, "padding": 1}


def layer(kind):
    return {"kind": kind}


MLP = {"layers": [linear(8, 8), layer("relu"), linear(8, 4)], "input": [8], "outputs": 4, "loss": "mse"}
WIDE = {"layers": [linear(24, 32), layer("relu"), linear(32, 16)], "input": [24], "outputs": 16, "loss": "mse"}
CNN = {"layers": [conv(3, 4), layer("relu"), layer("max_pool2d"), conv(4, 6), layer("relu"), layer("max_pool2d"),
                  layer("flatten"), linear(24, 5)],
       "input": [3, 8, 8], "outputs": 5, "loss": "cross_entropy"}


def with_modules(net):
    """The same network as torch.nn.Linear computes it, which in C++ uses other operators than in Python."""
    layers = [dict(one, module=True) if one["kind"] == "linear" else one for one in net["layers"]]
    return dict(net, layers=layers)


def count_parameters(net):
    return 2 * sum(one["kind"] in ("linear", "conv2d") for one in net["layers"])


def gradient(step, value, parameter=0, element="first"):
    """Puts `value` into the still scaled gradient of a parameter, after the last backward of a step."""
    return {"step": step, "where": "gradient", "parameter": parameter, "element": element, "value": value}


def unscaled(step, value, parameter=0, element="first"):
    """The same after unscale_(), too late to be noticed."""
    return dict(gradient(step, value, parameter, element), where="unscaled gradient")


def data(step, value):
    """Puts `value` into the inputs of a step: the loss and every gradient become NaN by themselves."""
    return {"step": step, "where": "data", "parameter": 0, "element": "first", "value": value}


def call(step, what, value):
    """At `step`: update(value), by number or by tensor, in place of update(); or a setter after it."""
    return {"step": step, "call": what, "value": value}


def group(parameters, **options):
    return {"parameters": list(parameters), "options": options}


def optimizer(kind, *groups):
    return {"kind": kind, "groups": list(groups)}


class Scenarios:
    def __init__(self):
        self.all = []

    def add(self, family, name, net=MLP, nets=1, autocast="none", optimizers=None, scaler=None, steps=8, batch=4, seed=0,
            mix=None, accumulate=1, unscale=(), clip=None, penalty=0.0, half_loss=False, inject=(), calls=(),
            hand_over_after=0, within=0.0):
        own = range(count_parameters(net))
        if optimizers is None:
            optimizers = [optimizer("SGD", group((number * len(own) + i for i in own), lr=0.125)) for number in range(nets)]
        self.all.append({
            "family": family, "name": name, "net": net, "nets": nets, "autocast": autocast, "optimizers": optimizers,
            "scaler": dict(SCALER, **(scaler or {})), "steps": steps, "batch": batch, "seed": seed or len(self.all) + 1,
            # Loss i is taken of the sum over nets j of mix[i][j] * output j.
            "mix": mix or [[1.0] * nets], "accumulate": accumulate, "unscale": list(unscale), "clip": clip,
            "penalty": penalty, "half_loss": half_loss, "inject": list(inject), "calls": list(calls),
            "hand_over_after": hand_over_after, "within": within,
        })


def plain_training(scenarios):
    for region, family in zip(REGIONS, (FLOAT32, BFLOAT16, FLOAT16)):
        def add(name, **options):
            scenarios.add(family, "%s_%s" % (name, region), autocast=region, **options)

        add("mlp")
        add("cnn", net=CNN)
        add("wide", net=WIDE, batch=33)
        # Scales that are no power of two: dividing by them rounds, and must round alike.
        add("odd_scale", scaler={"init_scale": 1000.3, "growth_factor": 1.7, "backoff_factor": 0.3}, inject=[gradient(4, "inf")])
        add("momentum", optimizers=[optimizer("SGD", group(range(4), lr=0.05, momentum=0.9))], inject=[gradient(1, "inf")])
        add("nesterov_and_decay", optimizers=[optimizer("SGD", group(range(4), lr=0.05, momentum=0.9, nesterov=True,
                                                                     weight_decay=0.01))])
        add("dampening", optimizers=[optimizer("SGD", group(range(4), lr=0.05, momentum=0.5, dampening=0.25))])

    # Real overflow: the first scales are too large for float16 gradients, and come down until they fit.
    scenarios.add(FLOAT16, "float16_overflows_by_itself", autocast="float16", scaler={"init_scale": 2.0**24}, steps=16)
    scenarios.add(FLOAT16, "float16_cnn_overflows_by_itself", net=CNN, autocast="float16",
                  scaler={"init_scale": 2.0**20, "growth_interval": 3}, steps=16)
    scenarios.add(FLOAT16, "float16_first_scale_of_65536", autocast="float16", scaler={"init_scale": 65536.0, "growth_interval": 1})
    scenarios.add(FLOAT16, "float16_loss", autocast="float16", half_loss=True)
    scenarios.add(BFLOAT16, "bfloat16_loss", autocast="bfloat16", half_loss=True)


def overflow(scenarios):
    family = "inf_and_nan_skip_the_same_steps"
    for region in REGIONS:
        for value in VALUES:
            places = [gradient(1, value, 0, "first"), gradient(4, value, 1, "middle"), gradient(8, value, 3, "last")]
            scenarios.add(family, "%s_first_middle_last_%s" % (value.replace("-", "minus_"), region), autocast=region, inject=places)
        scenarios.add(family, "three_in_a_row_%s" % region, autocast=region,
                      inject=[gradient(3, "inf"), gradient(4, "nan", 2, "last"), gradient(5, "-inf", 3)])
        scenarios.add(family, "every_step_%s" % region, autocast=region, steps=5, inject=[gradient(i, "inf") for i in range(1, 6)])
        scenarios.add(family, "inf_in_the_data_%s" % region, autocast=region, inject=[data(3, "inf"), data(6, "nan")])
    scenarios.add(family, "several_in_one_step", inject=[gradient(2, value, i, "middle") for i, value in enumerate(VALUES)])
    scenarios.add(family, "nan_in_the_data_of_a_cnn", net=CNN, autocast="float16", inject=[data(3, "nan")])
    # unscale_() has looked; nobody looks again, on either side.
    scenarios.add(family, "too_late_to_be_noticed", unscale=[0], inject=[unscaled(3, "inf", 1)], steps=4)


def scale(scenarios):
    family = "the_scale_moves_alike"
    infs = [gradient(3, "inf"), gradient(9, "nan")]
    for interval in (1, 2, 3, 5):
        scenarios.add(family, "growth_interval_%d" % interval, scaler={"growth_interval": interval}, inject=infs, steps=12)
    scenarios.add(family, "growth_1.5_backoff_0.25", steps=12, inject=infs,
                  scaler={"growth_factor": 1.5, "backoff_factor": 0.25, "growth_interval": 2})
    scenarios.add(family, "growth_1.001_backoff_0.999", steps=12, inject=infs,
                  scaler={"growth_factor": 1.001, "backoff_factor": 0.999, "growth_interval": 1, "init_scale": 3.0})
    scenarios.add(family, "does_not_grow_to_inf", scaler={"init_scale": 1e38, "growth_factor": 16.0, "growth_interval": 1}, steps=4)
    scenarios.add(family, "new_scale_by_number", calls=[call(2, "update", 512.0), call(5, "update", 300.7)], inject=infs, steps=12,
                  scaler={"growth_interval": 4})
    scenarios.add(family, "new_scale_by_tensor", calls=[call(3, "update_tensor", 2048.0), call(6, "update_tensor", 77.7)],
                  inject=infs, steps=12, scaler={"growth_interval": 4})
    scenarios.add(family, "new_interval", calls=[call(2, "set_growth_interval", 5), call(7, "set_growth_interval", 1)], steps=12,
                  scaler={"growth_interval": 3}, inject=[gradient(7, "inf")])
    scenarios.add(family, "new_factors", calls=[call(2, "set_growth_factor", 3.0), call(4, "set_backoff_factor", 0.125)], steps=12,
                  inject=infs)


def loops(scenarios):
    for region in REGIONS:
        def add(family, name, **options):
            scenarios.add(family, "%s_%s" % (name, region), autocast=region, **options)

        inf = [gradient(3, "inf", 2)]
        two_groups = [optimizer("SGD", group([0, 1], lr=0.25), group([2, 3], lr=0.0625, weight_decay=0.1))]
        three_groups = [optimizer("SGD", group([3], lr=0.1), group([0, 2], lr=0.2, momentum=0.5), group([1], lr=0.3))]
        add("several_parameter_groups_step_alike", "two_groups", optimizers=two_groups, inject=inf)
        add("several_parameter_groups_step_alike", "three_groups_in_another_order", optimizers=three_groups, inject=[gradient(2, "nan", 1)])
        add("several_parameter_groups_step_alike", "groups_with_a_frozen_rest", optimizers=[optimizer("SGD", group([0, 3], lr=0.25))], inject=[gradient(2, "nan", 3)])

        add("accumulated_gradients_are_equal", "two_batches_a_step", accumulate=2, inject=inf)
        add("accumulated_gradients_are_equal", "three_batches_a_step_of_a_cnn", accumulate=3, net=CNN, inject=inf, steps=5)

        add("clipped_gradients_are_equal", "unscaled", unscale=[0], clip={"optimizers": [0], "max_norm": 0.25, "norm_type": 2.0, "scaled": False, "with": "libtorch"}, inject=inf)
        add("clipped_gradients_are_equal", "unscaled_by_the_largest", unscale=[0], inject=inf,
            clip={"optimizers": [0], "max_norm": 0.0625, "norm_type": float("inf"), "scaled": False, "with": "libtorch"})
        add("clipped_gradients_are_equal", "max_norm_times_scale", clip={"optimizers": [0], "max_norm": 0.25, "norm_type": 2.0, "scaled": True, "with": "libtorch"}, inject=inf)
        add("clipped_gradients_are_equal", "accumulated_two_groups", optimizers=two_groups, accumulate=2, unscale=[0], inject=inf,
            clip={"optimizers": [0], "max_norm": 0.25, "norm_type": 2.0, "scaled": False, "with": "libtorch"})

        # No inf here: Python's function makes it NaN, ours makes all gradients 0, and the step is skipped.
        for norm_type, max_norm in ((1.0, 1.0), (2.0, 0.25), (3.0, 0.125), (float("inf"), 0.0625), (2.0, 1e6)):
            add("torchamp_clips_alike", "torchamp_clips_by_norm_%g_to_%g" % (norm_type, max_norm), unscale=[0], optimizers=two_groups,
                clip={"optimizers": [0], "max_norm": max_norm, "norm_type": norm_type, "scaled": False, "with": "torchamp"})

        add("a_gradient_penalty_is_equal", "gradient_penalty", penalty=0.5, inject=inf)

        mix = [[0.25, 0.75], [0.5, -0.5]]
        inf_in_second = [gradient(3, "inf", 5)]
        add("two_optimizers_skip_on_their_own_alike", "two_losses", nets=2, mix=mix)
        add("two_optimizers_skip_on_their_own_alike", "inf_in_the_second_unscale_of_the_first", nets=2, mix=mix, unscale=[0], inject=inf_in_second)
        add("two_optimizers_skip_on_their_own_alike", "inf_in_the_first_unscale_of_the_second", nets=2, mix=mix, unscale=[1], inject=[gradient(2, "nan", 0)])
        add("two_optimizers_skip_on_their_own_alike", "inf_in_both", nets=2, mix=mix, unscale=[0, 1], inject=[gradient(2, "nan", 0), gradient(2, "inf", 7)])
        add("two_optimizers_skip_on_their_own_alike", "accumulated_and_one_clipped", nets=2, mix=mix, unscale=[0], accumulate=2, inject=inf_in_second,
            clip={"optimizers": [0], "max_norm": 0.25, "norm_type": 2.0, "scaled": False, "with": "libtorch"})
        add("two_optimizers_skip_on_their_own_alike", "one_net_two_optimizers", inject=[gradient(4, "inf", 3)],
            optimizers=[optimizer("SGD", group([0, 1], lr=0.25)), optimizer("SGD", group([2, 3], lr=0.125, momentum=0.5))])

        add("a_disabled_scaler_is_a_plain_loop_on_both_sides", "disabled_scaler", scaler={"enabled": False}, unscale=[0])
    scenarios.add("a_disabled_scaler_is_a_plain_loop_on_both_sides", "disabled_scaler_lets_inf_pass", scaler={"enabled": False}, inject=[gradient(2, "inf")], steps=3)
    scenarios.add("a_disabled_scaler_is_a_plain_loop_on_both_sides", "disabled_scaler_two_optimizers", scaler={"enabled": False}, nets=2, mix=[[0.25, 0.75], [0.5, -0.5]],
                  calls=[call(2, "update", 512.0)])


def adaptive(scenarios):
    # Adam's and centred RMSprop's averages are rounded otherwise in C++ (x * b + g * (1 - b)) than in Python
    # (lerp), which moves a parameter by an ulp or two: 1.2e-7 at most as measured, with rates of 0.01.
    # In half precision an ulp can round a weight to the neighbouring half number, which moves a gradient by
    # up to 2^-8 of itself and Adam's step by as much.
    bounds = {"none": 1e-6, "bfloat16": 1e-3, "float16": 1e-3}
    exact, bounded = "adagrad_and_rmsprop_are_equal_bit_for_bit", "adam_and_centred_rmsprop_stay_within_bounds"
    kinds = (
        (bounded, "Adam", {"lr": 0.01}),
        (bounded, "Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.01, "betas": [0.8, 0.95], "eps": 1e-6}),
        (bounded, "AdamW", {"lr": 0.01, "weight_decay": 0.1}),
        (bounded, "RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5}),
        (exact, "Adagrad", {"lr": 0.01, "lr_decay": 0.1}),
        (exact, "RMSprop", {"lr": 0.01, "alpha": 0.9}),
        (exact, "RMSprop", {"lr": 0.01, "momentum": 0.5}),
    )
    for region in REGIONS:
        for family, kind, options in kinds:
            name = "_".join([kind.lower(), *(option for option in options if option != "lr"), region])
            scenarios.add(family, name, autocast=region, steps=12, optimizers=[optimizer(kind, group(range(4), **options))],
                          inject=[gradient(1, "inf"), gradient(6, "nan", 3)], within=bounds[region] if family == bounded else 0.0)
        # No two operators need round alike: equal here, but not everywhere.
        scenarios.add("nn_linear_stays_within_bounds", "nn_linear_%s" % region, net=with_modules(WIDE), batch=17, autocast=region,
                      inject=[gradient(4, "inf")], within=bounds[region])


def hand_overs(scenarios):
    """Stopped after a step, and gone on with by the other language from the files that the first wrote."""
    family = "a_checkpoint_goes_on_in_the_other_language"
    for region in REGIONS:
        scenarios.add(family, "mid_interval_%s" % region, autocast=region, scaler={"growth_interval": 4}, steps=10, hand_over_after=6)
        scenarios.add(family, "after_an_overflow_%s" % region, autocast=region, inject=[gradient(4, "inf"), gradient(7, "nan")],
                      scaler={"growth_interval": 3, "growth_factor": 1.5, "backoff_factor": 0.25}, steps=10, hand_over_after=4)
    scenarios.add(family, "while_overflowing", autocast="float16", scaler={"init_scale": 2.0**24}, steps=16, hand_over_after=3)
    scenarios.add(family, "two_optimizers", nets=2, mix=[[0.25, 0.75], [0.5, -0.5]], autocast="bfloat16", hand_over_after=2,
                  inject=[gradient(3, "inf", 5)])
    scenarios.add(family, "changed_settings", calls=[call(2, "set_growth_interval", 7), call(2, "set_growth_factor", 4.0)],
                  hand_over_after=3, steps=12)
    scenarios.add(family, "cnn", net=CNN, autocast="float16", scaler={"growth_interval": 3}, hand_over_after=5)
    scenarios.add(family, "momentum_in_one_of_two_groups", hand_over_after=3, inject=[gradient(2, "inf"), gradient(4, "inf")],
                  optimizers=[optimizer("SGD", group([0, 1], lr=0.25), group([2, 3], lr=0.05, momentum=0.9))])
    scenarios.add(family, "odd_scale", scaler={"init_scale": 1000.3, "growth_factor": 1.7, "backoff_factor": 0.3}, hand_over_after=3,
                  inject=[gradient(2, "inf")])


def at_random(scenarios, count=24):
    """Mixtures that nobody thought of. The seed is in the name."""
    for seed in range(1, count + 1):
        dice = random.Random(seed)
        nets = dice.choice((1, 1, 2))
        steps = dice.randint(6, 20)
        parameters = nets * count_parameters(MLP)
        optimizers = []
        for number in range(nets):
            own = [number * 4 + i for i in range(4)]
            dice.shuffle(own)
            cut = dice.randint(0, 3)
            optimizers.append(optimizer("SGD", *(group(part, lr=dice.choice((0.03, 0.1)), momentum=dice.choice((0.0, 0.8)),
                                                       weight_decay=dice.choice((0.0, 0.05))) for part in (own[:cut], own[cut:]) if part)))
        inject = [gradient(step, dice.choice(VALUES), dice.randrange(parameters), dice.choice(("first", "middle", "last")))
                  for step in range(1, steps + 1) if dice.random() < 0.25]
        unscale = [i for i in range(nets) if dice.random() < 0.5]
        clip = {"optimizers": unscale, "max_norm": 0.25, "norm_type": 2.0, "scaled": False, "with": "libtorch"} if unscale and dice.random() < 0.5 else None
        calls = [dice.choice((call(step, "update", dice.uniform(1.0, 5000.0)), call(step, "update_tensor", dice.uniform(1.0, 5000.0)),
                              call(step, "set_growth_factor", dice.uniform(1.1, 3.0)),
                              call(step, "set_backoff_factor", dice.uniform(0.1, 0.9))))
                 for step in range(1, steps + 1) if dice.random() < 0.15]
        scenarios.add("mixtures_drawn_at_random_are_equal", "random_%d" % seed, nets=nets, mix=[[0.25, 0.75], [0.5, -0.5]] if nets == 2 else None,
                      autocast=dice.choice(REGIONS), optimizers=optimizers, steps=steps, accumulate=dice.choice((1, 1, 2)),
                      scaler={"init_scale": dice.choice((3.0, 128.0, 1000.3, 65536.0)), "growth_factor": dice.uniform(1.1, 4.0),
                              "backoff_factor": dice.uniform(0.1, 0.9), "growth_interval": dice.randint(1, 4)},
                      inject=inject, unscale=unscale, clip=clip, calls=calls)


def every_scenario():
    scenarios = Scenarios()
    for add in (plain_training, overflow, scale, loops, adaptive, hand_overs, at_random):
        add(scenarios)
    names = [one["name"] for one in scenarios.all]
    assert len(set(names)) == len(names), "two scenarios have one name"
    return scenarios.all


def write(path):
    # JSON has no infinity: norms of that type are the string "inf".
    text = json.dumps(every_scenario(), indent=1).replace("Infinity", '"inf"')
    path.write_text(text + "\n")
