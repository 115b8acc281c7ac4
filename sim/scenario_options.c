#include "sim/scenario.h"

#define AT(member) offsetof(struct qh_settings, member)

const qh_option qh_scenario_options[] = {
    {"devices", QH_OPT_INT, AT(devices), .def = 4, .min = 1, .max = QH_MAX_DEVICES, .value = "N",
     .help = "simulated devices, one part of the graph each", .group = "Devices and partition"},
    {"partitioner", QH_OPT_TEXT, AT(partitioner), .def_text = "metis", .value = "NAME",
     .help = "metis, random, range, hash or file:PATH (one part number a line)"},
    {"objective", QH_OPT_CHOICE, AT(objective), .choices = "cut|vol",
     .help = "what metis makes small: edges cut, or nodes to be sent"},
    {"partition", QH_OPT_TEXT, AT(partition_file), .value = "FILE.qhp",
     .help = "a partition made by `qhalo partition`, in place of --partitioner"},

    {"model", QH_OPT_TEXT, AT(model), .def_text = "gcn", .value = "gcn|sage|gin",
     .help = "graph convolution", .group = "Model"},
    {"layers", QH_OPT_INT, AT(layers), .def = 3, .min = 1, .max = 1000, .value = "N",
     .help = "graph convolutions"},
    {"hidden", QH_OPT_INT, AT(hidden), .def = 256, .min = 1, .max = 65536, .value = "N",
     .help = "columns of the hidden layers"},
    {"dropout", QH_OPT_REAL, AT(dropout), .def = 0.5, .min = 0, .max = 0.999, .value = "P",
     .help = "share of hidden values set to 0 in training"},
    {"input-dropout", QH_OPT_REAL, AT(input_dropout), .def = 0, .min = 0, .max = 0.999,
     .value = "P", .help = "the same for input features"},
    {"norm", QH_OPT_CHOICE, AT(norm), .choices = "none|layer", .def = 1,
     .help = "normalisation of hidden layers"},
    {"activation", QH_OPT_CHOICE, AT(activation), .choices = "relu",
     .help = "after the normalisation"},
    {"order", QH_OPT_CHOICE, AT(order), .choices = "aggregate-first|transform-first|auto",
     .help = "(A H) W, A (H W), or by layer whichever sends less"},
    {"feature-norm", QH_OPT_CHOICE, AT(feature_norm), .choices = "none|row|standard",
     .help = "scaling of features on load"},

    {"epochs", QH_OPT_INT, AT(epochs), .def = 200, .min = 1, .max = 1000000, .value = "N",
     .help = "passes over the whole graph", .group = "Training"},
    {"lr", QH_OPT_REAL, AT(lr), .def = 0.01, .min = 0, .max = 1e6, .value = "RATE",
     .help = "Adam's step size"},
    {"weight-decay", QH_OPT_REAL, AT(weight_decay), .def = 0, .min = 0, .max = 1e6, .value = "X",
     .help = "L2 penalty added to gradients"},
    {"decay-layers", QH_OPT_CHOICE, AT(decay_layers), .choices = "all|first",
     .help = "layers that it is for"},
    {"recipe", QH_OPT_TEXT, AT(recipe), .value = "kipf|adaqp|varco",
     .help = "a paper's hyper-parameters; single options change them"},
    {"seed", QH_OPT_INT, AT(seed), .def = 1, .min = 0, .max = 9007199254740992.0, .value = "N",
     .help = "of weights, dropout, quantization noise and partition"},
    {"eval-every", QH_OPT_INT, AT(eval_every), .def = 1, .min = 0, .max = 1000000, .value = "N",
     .help = "epochs between evaluations; 0: only after the last"},
    {"early-stop", QH_OPT_INT, AT(early_stop), .def = 0, .min = 0, .max = 1000000,
     .value = "EPOCHS", .help = "stop when validation has not improved for so long; 0: never"},

    {"method", QH_OPT_TEXT, AT(method), .def_text = "vanilla", .value = "NAME",
     .help = "a bundle of what follows; the methods are listed below", .group = "Communication"},
    {"codec", QH_OPT_TEXT, AT(codec), .value = "NAME",
     .help = "of messages: fp32, bf16, fp16, int:B, mask:R, topk:R, drop, or mixed with --assign"},
    {"assign", QH_OPT_TEXT, AT(assign), .value = "NAME",
     .help = "a bit-width for each message: uniform, random, degree, adaptive or file:PATH"},
    {"bits", QH_OPT_TEXT, AT(bits), .def_text = "2,4,8", .value = "LIST",
     .help = "widths that --assign may give"},
    {"lambda", QH_OPT_REAL, AT(lambda), .def = 0.5, .min = 0, .max = 1, .value = "X",
     .help = "adaptive: 1 minds the variance alone, 0 the time alone"},
    {"group-size", QH_OPT_INT, AT(group_size), .def = 100, .min = 1, .max = 1000000000,
     .value = "N", .help = "adaptive: messages that share a width"},
    {"assign-every", QH_OPT_INT, AT(assign_every), .def = 50, .min = 1, .max = 1000000,
     .value = "N", .help = "epochs between assignments"},
    {"rate-schedule", QH_OPT_TEXT, AT(rate_schedule), .value = "NAME",
     .help = "send 1/R of the columns: const:R, linear:HIGH:LOW:SLOPE, exp:HIGH:LOW, "
             "step:HIGH:LOW:EVERY, file:PATH, or one a layer by commas"},
    {"mask-rescale", QH_OPT_FLAG, AT(mask_rescale),
     .help = "multiply the columns that were sent by D/k, so that their mean is right"},
    {"error-feedback", QH_OPT_FLAG, AT(error_feedback),
     .help = "add what the codec lost of a message to the next"},
    {"overlap", QH_OPT_FLAG, AT(overlap), .help = "compute central nodes while messages travel"},
    {"stale", QH_OPT_TEXT, AT(stale), .value = "K",
     .help = "epochs by which halo values and gradients are late: 1 with pipegcn, else 0"},
    {"smooth", QH_OPT_REAL, AT(smooth), .def = 0.95, .min = 0, .max = 0.999999, .value = "G",
     .help = "weight of the past in the averages of pipegcn-f, -g and -gf"},
    {"skip-bound", QH_OPT_TEXT, AT(skip_bound), .value = "EPS",
     .help = "skip a block that has changed by less than this, relative, since it was last sent; "
             "sancus takes 0.1"},
    {"skip-age", QH_OPT_INT, AT(skip_age), .def = 10, .min = 1, .max = 1000000, .value = "EPOCHS",
     .help = "send it again after so many epochs, whatever its change"},
    {"boundary-sample", QH_OPT_TEXT, AT(boundary_sample), .value = "P",
     .help = "share of boundary messages that an epoch keeps, as bns:P does"},
    {"params", QH_OPT_CHOICE, AT(params), .choices = "fp32|bf16", .def = 1,
     .help = "how scale and zero point of a message travel"},
    {"cache-features", QH_OPT_FLAG, AT(cache_features),
     .help = "send input features in the first epoch only"},

    {"net", QH_OPT_TEXT, AT(net), .def_text = "switch-10g", .value = "NAME|FILE.yaml",
     .help = "the network between devices; `qhalo net list` has them", .group = "Virtual time"},
    {"accelerator", QH_OPT_TEXT, AT(accelerator), .def_text = "v100", .value = "NAME|FILE.yaml",
     .help = "what a device computes on"},
    {"compute", QH_OPT_CHOICE, AT(compute), .choices = "modeled|measured",
     .help = "compute times: from the accelerator's figures, or this host's CPU time"},
    {"exchange", QH_OPT_CHOICE, AT(exchange), .choices = "posted|rounds",
     .help = "all blocks of an exchange at once, or round by round"},
    {"allreduce", QH_OPT_CHOICE, AT(allreduce), .choices = "ring|tree|hierarchical",
     .help = "how gradients are summed; hierarchical: inside machines, then between them"},
    {"clock", QH_OPT_CHOICE, AT(clock), .choices = "virtual|real",
     .help = "real: messages really take as long as the network says, and epochs are measured"},
    {"time-scale", QH_OPT_REAL, AT(time_scale), .def = 1, .min = 1e-3, .max = 1e6, .value = "F",
     .help = "all of the network takes F times as long"},
    {"devices-slow", QH_OPT_TEXT, AT(devices_slow), .value = "LIST",
     .help = "devices that compute slower: 3:1.5,8-15:2 (times the duration)"},

    {"threads", QH_OPT_INT, AT(threads), .def = 0, .min = 0, .max = 65536, .value = "T",
     .help = "cores of this host to use in all; 0: those that this process may use",
     .group = "This host"},
    {"pin", QH_OPT_TEXT, AT(pin), .def_text = "on", .value = "on|off|LIST",
     .help = "bind each thread to a core of its own; LIST: to these CPUs, as 0,2,4-7"},
    {0},
};

qh_status qh_settings_init(qh_settings *s)
{
    *s = (qh_settings){0};
    return qh_options_default(qh_scenario_options, s);
}

void qh_settings_fini(qh_settings *s)
{
    qh_options_free(qh_scenario_options, s);
}
