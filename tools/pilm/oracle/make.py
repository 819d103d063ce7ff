"""Results of another implementation (transformers, fp32) to compare PiLM with.

make.py fixtures OUT        tiny seeded models with logits at every position of four sequences
make.py model F32.gguf OUT  prompts on a real llama model, its weights taken from the GGUF file
make.py rounding F32.gguf Q8_0.gguf OUT
                            what rounding alone does to a correct 8-bit engine on the prompts of OUT

`pilm check-fixtures` and `pilm check-oracle` read what is written here.
"""

import copy
import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config,
                          Qwen3ForCausalLM)

torch.set_grad_enabled(False)

QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CORPUS = pathlib.Path(__file__).parent.parent / "src" / "synth" / "corpus.txt"

# Shapes that differ where mistakes hide: grouped heads, a head wider than usual, heads that together are
# wider or narrower than the model, tied or not.
SHAPES = {
    "llama-tied": dict(hidden_size=96, intermediate_size=160, num_hidden_layers=3,
                       num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True),
    "llama-untied": dict(hidden_size=64, intermediate_size=192, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False),
    "llama-hd64-gqa3": dict(hidden_size=192, intermediate_size=256, num_hidden_layers=1,
                            num_attention_heads=3, num_key_value_heads=1,
                            tie_word_embeddings=True),
    "qwen2-tied": dict(hidden_size=96, intermediate_size=160, num_hidden_layers=3,
                       num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True),
    "qwen3-tied": dict(hidden_size=96, intermediate_size=160, num_hidden_layers=3, head_dim=32,
                       num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True),
    "qwen3-untied": dict(hidden_size=128, intermediate_size=192, num_hidden_layers=3, head_dim=24,
                         num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False),
    "qwen3-one-bit": dict(hidden_size=256, intermediate_size=384, num_hidden_layers=3, head_dim=32,
                          num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True),
}
# The type that is compared beside F32, where it is not Q8_0.
QUANTIZED = {"qwen3-one-bit": "q1_0"}
LENGTHS = {"short8": 8, "mid33": 33, "long128": 128, "repeat40": 40}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1))


# Fixtures


def tiny_tokenizer(kind):
    tokenizer = Tokenizer(models.BPE())
    if kind == "smol":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ])
    else:
        from tokenizers import Regex
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=512, special_tokens=CONTROL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(CORPUS.read_text().splitlines(), trainer)
    assert tokenizer.get_vocab_size() == 512
    return tokenizer


def one_bit(matrix, generator):
    """The matrix with one f16 magnitude in each 128 weights of a row, which Q1_0 holds exactly; the
    magnitudes differ threefold, so that another block's shows."""
    blocks = matrix.view(-1, 128)
    scale = 0.5 + torch.rand((len(blocks), 1), generator=generator)
    d = (scale * blocks.abs().mean(1, keepdim=True)).half().float()
    return torch.where(blocks >= 0, d, -d).view(matrix.shape)


def tiny_model(name, seed):
    common = dict(SHAPES[name], vocab_size=512, max_position_embeddings=512, bos_token_id=1,
                  eos_token_id=2, attn_implementation="eager",
                  rope_parameters={"rope_type": "default", "rope_theta": 100000.0})
    if name.startswith("qwen2"):
        model = Qwen2ForCausalLM(Qwen2Config(rms_norm_eps=1e-6, **common))
    elif name.startswith("qwen3"):
        model = Qwen3ForCausalLM(Qwen3Config(rms_norm_eps=1e-6, **common))
    else:
        model = LlamaForCausalLM(LlamaConfig(rms_norm_eps=1e-5, **common))
    generator = torch.Generator().manual_seed(seed)

    def normal(parameter, mean, deviation):
        values = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(mean + deviation * values)

    dim = model.config.hidden_size
    # Small where epsilon is, so that a wrong one shows.
    embedding = {"qwen2": 0.02, "qwen3": 0.01}.get(name[:5], 0.05)
    for key, p in model.named_parameters():
        fan_in = p.shape[-1]
        if "embed_tokens" in key or "lm_head" in key:
            normal(p, 0.0, embedding)
        elif key == "model.norm.weight":
            normal(p, 2.2 / (embedding * dim**0.5), 0.55 / (embedding * dim**0.5))
        elif "q_norm" in key or "k_norm" in key:
            normal(p, 1.3, 0.3)
        elif "norm" in key:
            normal(p, 1.0, 0.25)
        elif key.endswith("bias"):
            normal(p, 0.0, 0.3 if "v_proj" in key else 1.0)
        else:
            gain = {"q_proj": 1.3, "k_proj": 1.3, "gate_proj": 1.2, "o_proj": 0.7,
                    "down_proj": 0.7}.get(key.split(".")[-2], 1.0)
            normal(p, 0.0, gain / fan_in**0.5)
        if QUANTIZED.get(name) == "q1_0" and p.dim() == 2:
            p.copy_(one_bit(p, generator))
    return model.float().eval()


def logits_of(model, ids):
    return model(torch.tensor([ids])).logits[0].numpy().astype(np.float32)


def per_head(weight, head_dim):
    return weight.view(-1, head_dim, *weight.shape[1:])


def mistaken(model, mistake):
    """A copy of the model that makes one classic mistake; none where it changes nothing."""
    config = copy.deepcopy(model.config)
    if mistake == "rms_norm_eps_x1000":
        config.rms_norm_eps *= 1000
    if mistake == "rope_theta_1e5_to_1e4":
        config.rope_parameters["rope_theta"] = 10000.0
    wrong = type(model)(config).float().eval()
    wrong.load_state_dict(model.state_dict())
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    for layer in wrong.model.layers:
        attention = layer.self_attn
        if mistake == "qk_rope_layout_interleaved_bug":
            # Rows ordered for interleaved pairs meet a half-split rotation.
            order = torch.arange(head_dim).view(2, -1).T.reshape(-1)
            for projection in (attention.q_proj, attention.k_proj):
                for p in projection.parameters():
                    p.copy_(per_head(p.clone(), head_dim)[:, order].reshape(p.shape))
            for norm in ("q_norm", "k_norm"):
                if hasattr(attention, norm):
                    p = getattr(attention, norm).weight
                    p.copy_(p.clone()[order])
        if mistake == "gqa_tile_instead_of_repeat_bug":
            # Slot s is served by KV head s // group; the head put there wants s' % kv_heads.
            if kv_heads == 1 or kv_heads == heads:
                return None
            group = heads // kv_heads
            order = torch.tensor([s % group * kv_heads + s // group for s in range(heads)])
            for p in attention.q_proj.parameters():
                p.copy_(per_head(p.clone(), head_dim)[order].reshape(p.shape))
            o = attention.o_proj.weight
            o.copy_(o.clone().view(-1, heads, head_dim)[:, order].reshape(o.shape))
    return wrong


MISTAKES = ["rms_norm_eps_x1000", "rope_theta_1e5_to_1e4", "qk_rope_layout_interleaved_bug",
            "gqa_tile_instead_of_repeat_bug"]


def make_fixtures(out):
    for kind in ("smol", "qwen"):
        directory = out / f"tokenizer-bpe512-{kind}"
        directory.mkdir(parents=True, exist_ok=True)
        tiny_tokenizer(kind).save(str(directory / "tokenizer.json"))
    for seed, name in enumerate(SHAPES, start=11):
        directory = out / name
        directory.mkdir(parents=True, exist_ok=True)
        model = tiny_model(name, seed)
        state = model.state_dict()
        if model.config.tie_word_embeddings:
            state.pop("lm_head.weight", None)
        save_file({k: v.contiguous() for k, v in state.items()},
                  str(directory / "model.safetensors"), metadata={"format": "pt"})
        model.config.architectures = [type(model).__name__]
        write_json(directory / "config.json", model.config.to_dict())
        random = np.random.default_rng(seed)
        sequences, right = {}, {}
        for sequence, length in LENGTHS.items():
            ids = random.integers(3, 500, length).tolist()
            if sequence == "repeat40":
                ids = (ids[:10] * 4)[:length]
            logits = right[sequence] = logits_of(model, ids)
            np.save(directory / f"{sequence}.logits.f32.npy", logits)
            sequences[sequence] = dict(ids=ids, logits_npy=f"{sequence}.logits.f32.npy",
                                       argmax=logits.argmax(-1).tolist())
        perturbations = {}
        for mistake in MISTAKES:
            wrong = mistaken(model, mistake)
            if wrong is None:
                continue
            perturbations[mistake] = {}
            for sequence, of in sequences.items():
                a, b = right[sequence].astype(np.float64), logits_of(wrong, of["ids"])
                cosine = (a * b).sum() / np.sqrt((a * a).sum() * (b.astype(np.float64) ** 2).sum())
                agree = (a.argmax(-1) == b.argmax(-1)).mean()
                perturbations[mistake][sequence] = dict(cos_all=cosine, top1_agree=agree)
        write_json(directory / "golden.json",
                   dict(quantized=QUANTIZED.get(name, "q8_0"), sequences=sequences,
                        perturbations=perturbations))
        print(name, "done", flush=True)


# A real model


def chat(*turns):
    text = "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in turns)
    return text + "<|im_start|>assistant\n"


LONG = (
    "A lighthouse stood at the end of the harbour wall, and for sixty years the same family had "
    "kept its lamp. The grandmother wrote down every ship that passed: its name, its cargo, the "
    "weather and the hour. Her son measured the tides and drew them as long blue curves on the "
    "kitchen wall, one sheet for each month. When the lamp was at last replaced by a machine, the "
    "granddaughter found that the books and the curves told the same story twice. Ships came late "
    "when the spring tides were high, and the price of bread in the town rose a week later. She "
    "gave the books to the university, kept the curves, and painted the kitchen white. "
)
PROMPTS = {
    "one_word": "Hello",
    "capital": "The capital of Norway is",
    "arithmetic": "12 plus 30 equals 42, and 7 times 8 equals",
    "numbers": "Table of squares: " + ", ".join(f"{n}*{n}={n * n}" for n in range(1, 17)) + ",",
    "story": "Once upon a time a small robot found a garden behind the factory and",
    "unicode": "Größe, naïve, façade, 東京 is Tokyo, Привет means hello, 🌍🚀 and €5 · ½ × ∞. "
               "日本語の文章。 Ελληνικά. العربية. हिन्दी. Emoji 👩‍🔬 end. " * 2,
    "python": "def mean(values):\n    total = 0\n    for value in values:\n        total +=",
    "rust": "/// Adds two numbers.\nfn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n#[test]\nfn",
    "long": LONG * 2,
    "chat": chat(("system", "You are a helpful assistant."), ("user", "What makes the sky blue?")),
    "chat_short": chat(("user", "Name three colours.")),
    "chat_turns": chat(("system", "Answer in one sentence."), ("user", "Who wrote Faust?"),
                       ("assistant", "Johann Wolfgang von Goethe wrote Faust."),
                       ("user", "When was he born?")),
    "chat_code": chat(("user", "Write a function in C that returns the larger of two ints.")),
}
GREEDY = 32


def read_gguf(path):
    from gguf import GGUFReader, quants
    reader = GGUFReader(path)

    def field(key):
        return reader.fields[key].contents()

    config = LlamaConfig(
        vocab_size=len(field("tokenizer.ggml.tokens")),
        hidden_size=field("llama.embedding_length"),
        intermediate_size=field("llama.feed_forward_length"),
        num_hidden_layers=field("llama.block_count"),
        num_attention_heads=field("llama.attention.head_count"),
        num_key_value_heads=field("llama.attention.head_count_kv"),
        rms_norm_eps=float(field("llama.attention.layer_norm_rms_epsilon")),
        max_position_embeddings=field("llama.context_length"),
        rope_parameters={"rope_type": "default",
                         "rope_theta": float(field("llama.rope.freq_base"))},
        attn_implementation="eager")
    head_dim = config.hidden_size // config.num_attention_heads
    names = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
             "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
             "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
             "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    ends = {"token_embd.weight": "model.embed_tokens.weight",
            "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
    state = {}
    for tensor in reader.tensors:
        values = torch.from_numpy(quants.dequantize(tensor.data, tensor.tensor_type).copy())
        if tensor.name in ends:
            state[ends[tensor.name]] = values
            continue
        _, layer, part, kind = tensor.name.split(".")
        if part in ("attn_q", "attn_k"):
            # Interleaved pairs back to halves.
            values = values.view(-1, head_dim // 2, 2, values.shape[-1]).transpose(1, 2)
            values = values.reshape(-1, values.shape[-1])
        state[f"model.layers.{layer}.{names[part]}.{kind}"] = values
    config.tie_word_embeddings = "lm_head.weight" not in state
    model = LlamaForCausalLM(config).float().eval()
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()

    vocabulary = {token: i for i, token in enumerate(field("tokenizer.ggml.tokens"))}
    merges = [tuple(m.split(" ")) for m in field("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])
    kinds = field("tokenizer.ggml.token_type")
    tokenizer.add_special_tokens([t for t, i in vocabulary.items() if kinds[i] == 3])
    return model, tokenizer


def margin(logits):
    best = np.sort(logits)[-2:]
    return float(best[1] - best[0])


def make_model(gguf_path, out):
    model, tokenizer = read_gguf(gguf_path)
    out.mkdir(parents=True, exist_ok=True)
    items = []
    for name, text in PROMPTS.items():
        ids = tokenizer.encode(text).ids
        result = model(torch.tensor([ids]), use_cache=True)
        logits = result.logits[0]
        last = logits[-1].numpy().astype(np.float32)
        nll = -torch.log_softmax(logits.double(), -1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])
        top = np.argsort(-last, kind="stable")[:20]
        np.save(out / f"{name}.last_logits.f32.npy", last)
        cache, step, greedy, margins = result.cache, last, [], []
        for _ in range(GREEDY):
            greedy.append(int(step.argmax()))
            margins.append(margin(step))
            result = model(torch.tensor([[greedy[-1]]]), cache=cache, use_cache=True)
            step, cache = result.logits[0, -1].numpy(), result.cache
        items.append(dict(
            name=name, text=text, ids=ids, top20=[[int(i), float(last[i])] for i in top],
            argmax_per_position=logits.argmax(-1).tolist(),
            nll_next_token_per_position=nll[:, 0].tolist(),
            greedy_ids=greedy, greedy_margin=margins,
            last_logits_npy=f"{name}.last_logits.f32.npy"))
        print(name, len(ids), "tokens", flush=True)
    write_json(out / "golden.json", dict(items=items))


# Rounding


def int8(x):
    """Activations as the engine quantises them: blocks of 32, absmax / 127, ties to even."""
    blocks = x.reshape(-1, 32)
    d = blocks.abs().amax(1, keepdim=True) / 127
    return (torch.round(blocks / torch.where(d > 0, d, 1.0)) * d).reshape(x.shape)


def rounding(f32_path, q8_0_path, out, runs=8, noise=1e-6):
    """Distance from fp32 of Q8_0 weights and int8 activations, over `runs` runs in which the input
    of each product is moved by `noise`: no error, but other ties and other roundings. The worst of
    each prompt and the spread go into `golden.json`."""
    right, _ = read_gguf(f32_path)
    coarse, _ = read_gguf(q8_0_path)
    for module in coarse.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(
                lambda _, args: (int8(args[0] * (1 + noise * torch.randn(args[0].shape))),))
    golden = json.loads((out / "golden.json").read_text())
    for item in golden["items"]:
        print("rounding:", item["name"], file=sys.stderr, flush=True)
        n, greedy = len(item["ids"]), torch.tensor(item["greedy_ids"])
        margins = torch.tensor(item["greedy_margin"], dtype=torch.float64)
        ids = torch.tensor([item["ids"] + item["greedy_ids"][:-1]])
        base = torch.log_softmax(right(ids).logits[0, :n].double(), -1)
        divergences, equal, margin_of_other = [], [], 0.0
        for seed in range(runs):
            torch.manual_seed(seed)
            logits = coarse(ids).logits[0]
            other = torch.log_softmax(logits[:n].double(), -1)
            divergences.append(float((base.exp() * (base - other)).sum(-1).mean()))
            equal.append(int((base.argmax(-1) == other.argmax(-1)).sum()))
            differs = logits[n - 1:].argmax(-1) != greedy
            margin_of_other = max([margin_of_other, *margins[differs].tolist()])
        kl, deviation = np.mean(divergences), np.std(divergences, ddof=1)
        item["rounding"] = {
            "greatest_margin": margin_of_other, "least_argmax_equal": min(equal),
            "spread": {"kl": float(kl), "kl_deviation": float(deviation),
                       "greatest_kl": max(divergences), "most_argmax_equal": max(equal)}}
    write_json(out / "golden.json", golden)


def main():
    match sys.argv[1:]:
        case ["fixtures", out]:
            make_fixtures(pathlib.Path(out))
        case ["model", gguf_path, out]:
            make_model(gguf_path, pathlib.Path(out))
        case ["rounding", f32_path, q8_0_path, out]:
            rounding(f32_path, q8_0_path, pathlib.Path(out))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
