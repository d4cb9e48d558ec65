// A page that reads and draws the whole answer at each chunk, for comparison: `bench/console/whole-answers.ts` builds it.
import { createRoot } from "react-dom/client";
import { lex } from "../../../src/console/chat/lex.ts";
import { readAnswer } from "../../../src/console/chat/read-stream.ts";
import { renderTokens } from "../../../src/console/chat/render-tokens.tsx";
import { PARTS } from "../../../src/console/parts/conversation/markdown.tsx";

async function ask(model: string): Promise<void> {
  const root = createRoot(document.getElementById("root") as HTMLElement);
  const { signal } = new AbortController();
  const { body } = await fetch("/api/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "All." }] }),
  });
  if (body === null) throw new Error("no answer came");
  let text = "";
  for await (const event of readAnswer(body, signal)) {
    if (event.type !== "text") continue;
    text += event.text;
    root.render(<Answer text={text} />);
  }
}

function Answer({ text }: { readonly text: string }) {
  const tokens = lex({ start: 0, kind: "markdown", text });
  return <div className="answer">{renderTokens(tokens ?? [], PARTS)}</div>;
}

Reflect.set(window, "askForAnswer", ask);
