import { tokenize } from "./tokenizer.ts";
import type { Tool, TurnMessage } from "./turn.ts";

const IMAGE_TOKENS = 64;

/** Renders the prompt as the model would see it, with a chat template similar to ChatML. */
export function renderPrompt(messages: readonly TurnMessage[], tools: readonly Tool[]): string {
  const offered = tools.length > 0 ? `<|tools|>${JSON.stringify(tools)}<|end|>` : "";
  const said = messages.map(
    ({ role, text, images, extra }) =>
      `<|start|>${role}\n${"<|image|>".repeat(images * IMAGE_TOKENS)}${text}${extra}<|end|>`,
  );
  return `${offered}${said.join("")}<|start|>assistant\n`;
}

/** Returns the number of tokens of the prompt, the same as `/tokenize` reports. */
export function countPromptTokens(
  messages: readonly TurnMessage[],
  tools: readonly Tool[],
): number {
  return tokenize(renderPrompt(messages, tools)).length;
}
