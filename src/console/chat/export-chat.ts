import { branchOf, type ChatDocument, type MessagePart } from "./chat-document.ts";

/** Returns the branch in view as Markdown, for a file. */
export function toMarkdown(title: string, document: ChatDocument): string {
  const messages = branchOf(document).map(({ role, model, at, parts }) => {
    const who = role === "user" ? "You" : (model ?? "Model");
    const told = parts.map(partText).filter((text) => text !== "");
    return [`## ${who}`, `*${new Date(at).toISOString()}*`, ...told].join("\n\n");
  });
  const system =
    document.system.trim() === "" ? [] : [`> ${document.system.trim().replaceAll("\n", "\n> ")}`];
  return `${[`# ${title}`, ...system, ...messages].join("\n\n")}\n`;
}

function partText(part: MessagePart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
      return `*Image ${part.name ?? ""}*`;
    case "file":
      return `*File ${part.name}*`;
    case "thinking":
      return `<details><summary>Thinking</summary>\n\n${part.text}\n\n</details>`;
    case "tool_run":
      return `*Tool ${part.name}: ${part.status}*`;
    case "sources":
      return part.sources
        .map(({ index, filename, page }) => `[${index}] ${filename}${page ? ` p. ${page}` : ""}`)
        .join("  \n");
    default:
      return "";
  }
}
