import { callHttp } from "../../../support/clients/http-session.ts";
import type { ConsoleStage } from "../console-stage.ts";

const MANUAL = [
  "# Pump P-4",
  "",
  "E-4711 means that the pump runs dry. Check the valve before the pump is started again.",
  "",
  "## Filter",
  "",
  "Turn the lid to the left and lift the filter out. Rinse it with cold water.",
].join("\n");

/** A file that can be read, and one that cannot. */
const FILES: ReadonlyArray<readonly [name: string, content: string]> = [
  ["manual.md", MANUAL],
  ["archive.zip", "PK\u0003\u0004 no archive at all"],
];

/** Puts a store with files into a gateway, and an assistant that answers from it. Everybody may use them. */
export async function fillKnowledge({ url, sessions }: ConsoleStage) {
  const token = sessions.administrator;
  const create = async (path: string, body: unknown) => {
    const answer = await callHttp(url, { method: "POST", path, token, body });
    if (answer.status >= 300) throw new Error(`POST ${path} was answered ${answer.text}`);
    return answer.body;
  };
  const store = await create("/v1/vector_stores", {
    name: "Manuals",
    ext: { visibility: "everyone" },
  });
  for (const [name, content] of FILES) {
    const file_id = await uploadText(url, token, { name, content });
    await create(`/v1/vector_stores/${store.id}/files`, { file_id });
  }
  await untilRead(url, token, store.id);
  const assistant = await create("/v1/assistants", {
    name: "Handbook",
    model: "sim-chat",
    instructions: "Answer in one sentence.",
    tool_resources: { file_search: { vector_store_ids: [store.id] } },
    ext: { visibility: "everyone", min_similarity: 0.1 },
  });
  return { knowledge: store.id as string, assistants: assistant.id as string };
}

/** Uploads a text as a file. Returns its id. */
async function uploadText(
  url: string,
  token: string,
  { name, content }: { readonly name: string; readonly content: string },
): Promise<string> {
  const form = new FormData();
  form.set("purpose", "assistants");
  form.set("file", new File([content], name));
  const answer = await fetch(`${url}/v1/files`, {
    ...{ method: "POST", body: form },
    headers: { authorization: `Bearer ${token}` },
  });
  if (!answer.ok) throw new Error(`${name} was not uploaded: ${await answer.text()}`);
  return ((await answer.json()) as { readonly id: string }).id;
}

/** Waits until nothing of a store is being read. The server tells how often it may be asked. */
async function untilRead(url: string, token: string, storeId: string): Promise<void> {
  for (;;) {
    const { body, headers } = await callHttp(url, { path: `/v1/vector_stores/${storeId}`, token });
    if (body.status !== "in_progress") return;
    const pause = Number(headers.get("openai-poll-after-ms") ?? 500);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
