import { z } from "zod";
import type { SessionCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { createFileFromBytes, keepFiles } from "../../knowledge/files/create-file.ts";
import { addFiles, type NewStoreFile } from "../../knowledge/stores/add-files.ts";
import { lockStore, type readStore } from "../../knowledge/stores/stores.ts";
import { inGroups } from "../../lib/in-groups.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";
import { storableText } from "../../lib/text/storable-text.ts";
import { readOwner } from "../owner-caller.ts";
import { unpackTexts } from "../rows/pack-rows.ts";
import type { RowError } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { markKnowledge, writerOf } from "../triggers/marks.ts";
import { checkedTemplates, fillForRows } from "./shared/step-templates.ts";
import { defineStepKind, type FieldFault, type StepContext, type StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** Files that one step adds. */
const FILES_MAX = 5_000;
/** Files of one batch of the store. */
const BATCH_FILES = 500;
/** A file that no store took, because the step was interrupted, is deleted after this time. */
const ORPHAN_SECONDS = 2 * 86_400;
const ATTRIBUTES_MAX = 16;
/** Characters, as clients of the API may send them. */
const ATTRIBUTE_MAX = 512;
const FILE_ID = /^[\x21-\x7e]{1,200}$/;

const settings = z
  .strictObject({
    vector_store: z.string().min(1).max(100).describe("The id of the vector store."),
    text: z
      .string()
      .min(1)
      .max(20_000)
      .optional()
      .describe("The text of each row's new file, with {{ }}: text or Markdown."),
    filename: z
      .string()
      .min(1)
      .max(200)
      .default("{{ run.id }}.md")
      .describe(
        "The name of the new file, with {{ }}; its end says what it is, such as .md or .txt.",
      ),
    file_id: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("In the place of 'text': the id of a file that exists, such as {{ row.file_id }}."),
    attributes: z
      .record(z.string().min(1).max(64), z.string().max(ATTRIBUTE_MAX))
      .default({})
      .refine((given) => Object.keys(given).length <= ATTRIBUTES_MAX, `at most ${ATTRIBUTES_MAX}`)
      .describe("Attributes of the files in the store, with {{ }}: searches filter by them."),
  })
  .refine(({ text, file_id }) => (text === undefined) !== (file_id === undefined), {
    path: ["text"],
    message: "exactly one of 'text' and 'file_id'",
  });
type Settings = z.output<typeof settings>;

/** `ingest_knowledge`: the files join the store in the transaction that ends the step, so each of them once. */
export function ingestKnowledgeStep(services: StepServices): StepKind {
  return defineStepKind<Settings>({
    kind: "ingest_knowledge",
    group: "sink",
    label: "Add to knowledge",
    help: "Adds each row's text or file to a vector store, where it is ingested afterwards; passes the rows on.",
    example: {
      vector_store: "vs_0123456789abcdef",
      text: "# {{ row.title }}\n\n{{ row.body }}",
      filename: "{{ row.id }}.md",
    },
    schema: settings,
    expressions: ({ text, filename, file_id, attributes }) => [
      ...checkedTemplates("text", text),
      ...checkedTemplates("filename", filename),
      ...checkedTemplates("file_id", file_id),
      ...checkedTemplates("attributes", attributes),
    ],
    check: ({ vector_store }, { owner }) => checkStore(services, vector_store, owner),
    run: (context) => run(services, context),
  });
}

async function checkStore(
  { database }: StepServices,
  id: string,
  owner: Parameters<typeof readStore>[2],
): Promise<readonly FieldFault[]> {
  try {
    // A lock of a moment: it asks for the same rights as the step.
    await database.ask((db) => db.transaction((transaction) => lockStore(transaction, id, owner)));
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ServiceError) || thrown.code === "storage_unavailable") throw thrown;
    return [{ field: "vector_store", message: thrown.message }];
  }
}

/** One row's file: what it is made of, or which one it is. */
interface Item {
  /** Its JSON text. */
  readonly row: string;
  readonly filled: JsonObject;
}

async function run(services: StepServices, context: StepContext<Settings>): Promise<undefined> {
  const { run: claimed, settings: given, isTest, tell, signal } = context;
  const owner = await readOwner(services.database.ask, claimed.ownerId);
  const added: NewStoreFile[] = [];
  let number = 0;
  for await (const items of filledRows(services, context)) {
    for (const item of items) {
      number += 1;
      signal.throwIfAborted();
      if ("error" in item) {
        await context.reject({ row: number, ...item.error }, item.row);
        continue;
      }
      if (added.length === FILES_MAX) throw tooMany();
      const fileId = isTest ? "" : await fileOf(services, owner, { item, given });
      added.push({ fileId, attributes: attributesOf(item.filled), chunking: null });
      await context.output().push(item.row);
    }
  }
  if (isTest) {
    tell(`would add ${added.length} files to the vector store ${given.vector_store}`);
    return undefined;
  }
  await context.commit((transaction) => addAll(services, context, { transaction, owner, added }));
  services.stores.wakeIngestion();
  return undefined;
}

/** The rows of each chunk with their filled texts. */
async function* filledRows({ rowProcess }: StepServices, context: StepContext<Settings>) {
  const { text, filename, file_id, attributes } = context.settings;
  const made = file_id === undefined ? { text: text ?? "", filename } : { file_id };
  const templates: JsonObject = { ...made, attributes };
  for (const input of context.inputs) {
    for await (const chunk of input.chunks()) {
      const rows = await unpackTexts(chunk);
      const filled = await fillForRows(rowProcess, templates, rows, context);
      yield rows.map((row, index) => {
        const result = filled[index];
        if (result === undefined || "error" in result) {
          return { row, error: result?.error ?? { code: "no_text", message: "no text" } };
        }
        const filledRow = result.value as JsonObject;
        const fault = faultOf(filledRow);
        return fault === undefined ? { row, filled: filledRow } : { row, error: fault };
      });
    }
  }
}

/** What the store would refuse of one row must not end the step for all. */
function faultOf(filled: JsonObject): Omit<RowError, "row"> | undefined {
  const { file_id } = filled;
  if (file_id !== undefined && !FILE_ID.test(textOf(file_id))) {
    return { code: "invalid_file_id", message: "What 'file_id' yields is not the id of a file." };
  }
  const [long] =
    Object.entries(attributesOf(filled)).find(([, value]) => value.length > ATTRIBUTE_MAX) ?? [];
  if (long === undefined) return undefined;
  const message = `The attribute '${long}' has more than ${ATTRIBUTE_MAX} characters. Shorten it with a map step.`;
  return { code: "attribute_too_long", message };
}

async function fileOf(
  { files: store }: StepServices,
  { ownerId }: SessionCaller,
  { item: { filled }, given }: { readonly item: Item; readonly given: Settings },
): Promise<string> {
  if (given.file_id !== undefined) return textOf(filled["file_id"]);
  // A name is one level: it is shown, and offered when the file is downloaded.
  const name = textOf(filled["filename"]).replaceAll(/[/\\\p{Cc}]+/gu, "_");
  const filename = storableText(name.slice(0, 255));
  try {
    const file = await createFileFromBytes(store, Buffer.from(textOf(filled["text"])), {
      ...{ filename: filename === "" ? "row.md" : filename, purpose: "assistants", ownerId },
      ...{ visibility: "private", expiresAfter: ORPHAN_SECONDS },
    });
    return file.id;
  } catch (thrown) {
    throw knowledgeFailure(thrown);
  }
}

interface Addition {
  readonly transaction: Db;
  readonly owner: SessionCaller;
  readonly added: readonly NewStoreFile[];
}

async function addAll(
  { clock }: StepServices,
  { run: claimed, settings: given }: StepContext<Settings>,
  { transaction, owner, added }: Addition,
): Promise<void> {
  try {
    const store = await lockStore(transaction, given.vector_store, owner);
    for (const batch of inGroups(added, BATCH_FILES)) {
      const addition = { store, files: batch, caller: owner, inBatch: true };
      const batchId = await addFiles(transaction, addition, clock.now());
      await markKnowledge(transaction, { vectorStoreId: store.id, batchId }, writerOf(claimed));
      if (given.file_id !== undefined) continue;
      await keepFiles(
        transaction,
        batch.map(({ fileId }) => fileId),
      );
    }
  } catch (thrown) {
    throw knowledgeFailure(thrown);
  }
}

function attributesOf({ attributes }: JsonObject): Readonly<Record<string, string>> {
  if (!isJsonObject(attributes)) return {};
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, storableText(textOf(value))]),
  );
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function knowledgeFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ServiceError)) return thrown;
  const isRetryable = thrown.code === "storage_unavailable";
  return new StepFailure(thrown.code, thrown.message, { isRetryable, cause: thrown });
}

function tooMany(): StepFailure {
  return new StepFailure(
    "too_many_files",
    `A step adds at most ${FILES_MAX} files. Split the rows by a limit, or join them to longer texts.`,
  );
}
