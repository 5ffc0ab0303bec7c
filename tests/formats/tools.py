"""Lists exactly as the tools wrote them.

Made with transformers 5.24.0, ctranslate2 4.8.5 and openai 3.57.0 on Python 3.11. The models are a BART and a GPT-2 of
16 dimensions with random weights over some thirty pieces; docs/formats.md has the lines of Python. Lists of vLLM, COMET
and TRL have the form that their sources or documentation give.
"""

# ruff: noqa: E501

from __future__ import annotations

# json.dumps({"id": …, "src": …, "sequences": tokenizer.batch_decode(…), "sequences_scores": ….tolist()}) of
# model.generate(num_beams=3, num_return_sequences=3, output_scores=True, return_dict_in_generate=True)
TRANSFORMERS = """\
{"id": 0, "src": "das haus ist klein", "sequences": ["grün cat grün cat", "smaller small", "grün cat small"], "sequences_scores": [-0.7763990759849548, -0.788546085357666, -0.837368369102478]}
{"id": 1, "src": "ein hund sieht das haus", "sequences": ["er roterer", "er iserer", "er cater cat"], "sequences_scores": [-0.2996777892112732, -0.436160147190094, -0.558216392993927]}
"""
# json.dumps of each list that pipeline("text-generation")(sources, num_return_sequences=2, return_full_text=False) returns
PIPELINE = """\
[{"generated_text": "hund old katze"}, {"generated_text": "katze rot"}]
[{"generated_text": "cat rot sees"}, {"generated_text": "cat dog"}]
"""
# json.dumps({"src": …, "hypotheses": result.hypotheses, "scores": result.scores}) of
# Translator.translate_batch(beam_size=3, num_hypotheses=3, return_scores=True); the last source is empty
CTRANSLATE = """\
{"src": "das haus ist klein", "hypotheses": [["▁grün", "▁cat", "▁grün", "▁cat", "▁cat"], ["▁grün", "▁cat", "<s>", "▁small", "▁cat"], ["<s>", "▁small", "er", "▁small", "er"]], "scores": [-0.8625754117965698, -0.891951858997345, -0.9615529179573059]}
{"src": "ein hund sieht das haus", "hypotheses": [["er", "▁rot", "er", "er", "▁cat"], ["er", "▁is", "er", "er", "▁cat"], ["er", "▁cat", "er", "▁cat", "▁cat"]], "scores": [-0.32415255904197693, -0.4606350064277649, -0.5916725397109985]}
{"src": "", "hypotheses": [[], [], []], "scores": [0.0, 0.0, 0.0]}
"""
# openai.types.chat.ChatCompletion.model_dump_json() of an answer with n=2, logprobs=True
CHAT = """\
{"id":"chatcmpl-1","choices":[{"finish_reason":"stop","index":0,"logprobs":{"content":[{"token":"the","bytes":[116,104,101],"logprob":-0.5,"top_logprobs":[]},{"token":" house","bytes":[32,104,111,117,115,101],"logprob":-0.25,"top_logprobs":[]}],"refusal":null},"message":{"content":"the house","refusal":null,"role":"assistant","annotations":null,"audio":null,"function_call":null,"tool_calls":null}},{"finish_reason":"stop","index":1,"logprobs":{"content":[{"token":"a","bytes":[97],"logprob":-1.5,"top_logprobs":[]},{"token":" house","bytes":[32,104,111,117,115,101],"logprob":-0.25,"top_logprobs":[]}],"refusal":null},"message":{"content":"a house","refusal":null,"role":"assistant","annotations":null,"audio":null,"function_call":null,"tool_calls":null}}],"created":1700000000,"model":"m","object":"chat.completion","metadata":null,"moderation":null,"service_tier":null,"system_fingerprint":null,"usage":{"completion_tokens":4,"prompt_tokens":5,"total_tokens":9,"completion_tokens_details":null,"prompt_tokens_details":null}}
"""
# openai.types.Completion.model_dump_json()
COMPLETION = """\
{"id":"cmpl-1","choices":[{"finish_reason":"stop","index":0,"logprobs":{"text_offset":[0,4],"token_logprobs":[-0.5,-0.25],"tokens":[" the"," house"],"top_logprobs":null},"text":" the house"},{"finish_reason":"length","index":1,"logprobs":{"text_offset":[0,2],"token_logprobs":[-1.5,-0.25],"tokens":[" a"," house"],"top_logprobs":null},"text":" a house"}],"created":1700000000,"model":"m","object":"text_completion","system_fingerprint":null,"usage":null}
"""
# vars of a RequestOutput, its outputs through dataclasses.asdict
VLLM = """\
{"request_id": "0", "prompt": "das haus", "prompt_token_ids": [3, 4], "outputs": [{"index": 0, "text": " the house", "token_ids": [7, 8], "cumulative_logprob": -0.75, "logprobs": [{"7": {"logprob": -0.5, "rank": 1, "decoded_token": " the"}}, {"8": {"logprob": -0.25, "rank": 1, "decoded_token": " house"}}], "finish_reason": "stop", "stop_reason": null, "lora_request": null}, {"index": 1, "text": " a house", "token_ids": [9, 8], "cumulative_logprob": -1.75, "logprobs": [{"9": {"logprob": -1.5, "rank": 2, "decoded_token": " a"}}, {"8": {"logprob": -0.25, "rank": 1, "decoded_token": " house"}}], "finish_reason": "stop", "stop_reason": null, "lora_request": null}], "finished": true, "metrics": null, "prompt_logprobs": null, "lora_request": null, "encoder_prompt": null, "encoder_prompt_token_ids": null, "num_cached_tokens": 1, "kv_transfer_params_list": []}
"""
# the entries of comet-score --to_json, one per line: jq -c '.[][]'
COMET = """\
{"src": "das haus", "mt": "the house", "ref": "the house", "COMET": 0.9375}
{"src": "das haus", "mt": "a house", "ref": "the house", "COMET": 0.75}
"""
# a conversational preference data set
TRL = """\
{"prompt": [{"role": "user", "content": "das haus"}], "chosen": [{"role": "assistant", "content": "the house"}], "rejected": [{"role": "assistant", "content": "a house"}]}
"""
