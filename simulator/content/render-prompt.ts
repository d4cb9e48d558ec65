import { tokenize } from "./tokenizer.ts";
import type { Tool, TurnMessage } from "./turn.ts";

const IMAGE_TOKENS = 64;

/** The prompt as the model would see it: a chat template in the manner of ChatML. */
export function renderPrompt(messages: readonly TurnMessage[], tools: readonly Tool[]): string {
  const offered = tools.length > 0 ? `<|tools|>${JSON.stringify(tools)}<|end|>` : "";
  const said = messages.map(
    ({ role, text, images, extra }) =>
      `<|start|>${role}\n${"<|image|>".repeat(images * IMAGE_TOKENS)}${text}${extra}<|end|>`,
  );
  return `${offered}${said.join("")}<|start|>assistant\n`;
}

/** Tokens of the prompt; the same count that `/tokenize` gives. */
export function countPromptTokens(
  messages: readonly TurnMessage[],
  tools: readonly Tool[],
): number {
  return tokenize(renderPrompt(messages, tools)).length;
}
