/** What a client needs to know to call the gateway. */
export interface ClientConnection {
  /** Such as `http://gateway:8080`, without a slash at its end. */
  readonly origin: string;
  readonly model: string;
  /** The model's context in tokens; null where it is not known. */
  readonly context: number | null;
  /** The most tokens of one answer; null where only the context limits it. */
  readonly output: number | null;
  /** An API key, or what stands in its place. */
  readonly key: string;
}

const QUESTION = "Say hello.";
/** A text of JSON is one of Python and of JavaScript as well. */
const text = (value: string): string => JSON.stringify(value);
const api = ({ origin }: ClientConnection): string => `${origin}/v1`;

export function openAiPython(to: ClientConnection): string {
  return `from openai import OpenAI

client = OpenAI(base_url=${text(api(to))}, api_key=${text(to.key)})
answer = client.chat.completions.create(
    model=${text(to.model)},
    messages=[{"role": "user", "content": ${text(QUESTION)}}],
)
print(answer.choices[0].message.content)`;
}

export function openAiJavaScript(to: ClientConnection): string {
  return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${text(api(to))}, apiKey: ${text(to.key)} });
const answer = await client.chat.completions.create({
  model: ${text(to.model)},
  messages: [{ role: "user", content: ${text(QUESTION)} }],
});
console.log(answer.choices[0].message.content);`;
}

export function anthropicPython({ origin, key, model }: ClientConnection): string {
  return `from anthropic import Anthropic

client = Anthropic(base_url=${text(origin)}, api_key=${text(key)})
answer = client.messages.create(
    model=${text(model)},
    max_tokens=256,
    messages=[{"role": "user", "content": ${text(QUESTION)}}],
)
print(answer.content)`;
}

export function anthropicJavaScript({ origin, key, model }: ClientConnection): string {
  return `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: ${text(origin)}, apiKey: ${text(key)} });
const answer = await client.messages.create({
  model: ${text(model)},
  max_tokens: 256,
  messages: [{ role: "user", content: ${text(QUESTION)} }],
});
console.log(answer.content);`;
}
