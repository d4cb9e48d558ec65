import { expect, it } from "vitest";
import {
  addBeside,
  append,
  branchOf,
  type ChatDocument,
  type ChatMessage,
  emptyDocument,
  showBranchThrough,
  update,
} from "../../../src/console/chat/chat-document.ts";
import { fromQuestion, MAX_SENT, toRequest } from "../../../src/console/chat/chat-request.ts";
import { mergeDocuments } from "../../../src/console/chat/merge-documents.ts";

const said = (role: "user" | "assistant", text: string): Omit<ChatMessage, "parent"> => ({
  ...{ role, at: 1, state: "done" },
  parts: [{ type: "text", text }],
});

function chatOf(count: number): ChatDocument {
  let document = emptyDocument("m");
  for (let index = 0; index < count; index++) {
    const role = index % 2 === 0 ? "user" : "assistant";
    document = append(document, said(role, `${role} ${index}`)).document;
  }
  return document;
}

const texts = (document: ChatDocument) =>
  branchOf(document).map(({ parts }) => (parts[0]?.type === "text" ? parts[0].text : ""));

it("shows the branch from the first message to the leaf", () => {
  expect(texts(chatOf(4))).toEqual(["user 0", "assistant 1", "user 2", "assistant 3"]);
  expect(branchOf(emptyDocument("m"))).toEqual([]);
});

it("keeps both an edited question and the one before it, with what followed each", () => {
  const first = chatOf(4);
  const edited = addBeside(first, "m3", said("user", "edited"));
  expect(texts(edited.document)).toEqual(["user 0", "assistant 1", "edited"]);
  const answered = append(edited.document, said("assistant", "again")).document;
  const shown = branchOf(answered).find(({ id }) => id === edited.id);
  expect(shown?.siblings).toEqual(["m3", edited.id]);
  expect(texts(showBranchThrough(answered, "m3"))).toEqual(texts(first));
  expect(texts(showBranchThrough(answered, edited.id))).toEqual(texts(answered));
  // Back at a fork the newest branch is shown.
  expect(texts(showBranchThrough(answered, "m1"))).toEqual(texts(answered));
});

it("edits the first question too", () => {
  const { document, id } = addBeside(chatOf(2), "m1", said("user", "other"));
  expect(texts(document)).toEqual(["other"]);
  expect(branchOf(document)[0]?.siblings).toEqual(["m1", id]);
});

it("changes an answer in its place, and no other", () => {
  const before = chatOf(4);
  const after = update(before, "m2", { state: "stopped" });
  expect(after.messages["m2"]?.state).toBe("stopped");
  expect(after.messages["m4"]).toBe(before.messages["m4"]);
  expect(before.messages["m2"]?.state).toBe("done");
});

it("ends on a document that goes in circles", () => {
  const messages = {
    m1: { ...said("user", "a"), parent: "m2" },
    m2: { ...said("user", "b"), parent: "m1" },
  };
  const document = { ...emptyDocument("m"), leaf: "m1", messages };
  expect(branchOf(document).length).toBeLessThan(5);
});

it("sends the newest 50 messages, and the system prompt besides", () => {
  const sent = toRequest({ ...chatOf(61), system: "Be brief." });
  expect(sent.messages[0]).toEqual({ role: "system", content: "Be brief." });
  const rest = sent.messages.slice(1);
  expect(rest).toHaveLength(MAX_SENT);
  expect(rest.at(-1)).toEqual({ role: "user", content: "user 60" });
});

it("can leave out answers that stand before the first question", () => {
  const request = toRequest({ ...chatOf(61), system: "Be brief." });
  const shorter = fromQuestion(request);
  expect(shorter?.messages.map(({ role }) => role).slice(0, 2)).toEqual(["system", "user"]);
  expect(shorter?.messages).toHaveLength(MAX_SENT);
  expect(shorter && fromQuestion(shorter)).toBeUndefined();
});

it("sends parameters, files and pictures, and neither thinking nor an empty answer", () => {
  const asked = append(emptyDocument("m"), {
    ...said("user", ""),
    parts: [
      { type: "text", text: "Look" },
      { type: "file", name: "a.md", text: "```js\n1\n```" },
      { type: "image", data: "data:image/png;base64,AA==" },
    ],
  }).document;
  const failed = append(asked, { ...said("assistant", ""), state: "failed", parts: [] }).document;
  const thought = append(failed, {
    ...said("assistant", ""),
    parts: [
      { type: "thinking", text: "hm" },
      { type: "text", text: "Yes" },
    ],
  }).document;
  const request = toRequest({ ...thought, parameters: { effort: "low", temperature: 0.2 } });
  expect(request).toMatchObject({ reasoning_effort: "low", temperature: 0.2, stream: true });
  expect(request.messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "text", text: 'File "a.md":\n````\n```js\n1\n```\n````' },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      ],
    },
    { role: "assistant", content: "Yes" },
  ]);
});

it("brings what two tabs have said together, as branches, and loses nothing", () => {
  const begun = chatOf(2);
  const at = (time: number, text: string) => ({ ...said("user", text), at: time });
  const other = append(append(begun, at(10, "from there")).document, said("assistant", "there"));
  const own = append(append(begun, at(20, "from here")).document, said("assistant", "here"));
  const both = mergeDocuments(other.document, own.document);
  expect(texts(both)).toEqual(["user 0", "assistant 1", "from here", "here"]);
  const [, , question] = branchOf(both);
  expect(question?.siblings).toHaveLength(2);
  expect(texts(showBranchThrough(both, question?.siblings[0] ?? ""))).toEqual([
    ...["user 0", "assistant 1", "from there", "there"],
  ]);
  // An answer that one tab has whole and the other in part is one answer, whole.
  const part = update(begun, "m2", { state: "stopped", parts: [] });
  expect(mergeDocuments(part, begun).messages["m2"]).toEqual(begun.messages["m2"]);
  expect(Object.keys(mergeDocuments(begun, begun).messages)).toHaveLength(2);
});
