import { isDeepStrictEqual } from "node:util";
import { count, eq } from "drizzle-orm";
import type { Actor } from "../../access/actor.ts";
import { auditDetails } from "../../access/audit/record-audit.ts";
import { type ChangeFrame, change } from "../../access/change.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { assistants } from "../../db/tables/assistants.ts";
import { randomBase62 } from "../../lib/id.ts";
import { mayChange, refuseBoundKeyHere } from "../rights.ts";
import type { Assistant } from "./assistant.ts";
import { freeSlug, modelKeys, refuseTakenName } from "./assistant-names.ts";
import {
  type AssistantFields,
  type AssistantPatch,
  NEW_ASSISTANT,
  readAssistant,
  toAssistant,
} from "./assistant-record.ts";
import type { Assistants } from "./assistants.ts";
import { nameKey } from "./name-key.ts";
import { refuseForeignStores, refuseGrants, refuseUnknownTools } from "./refuse-grants.ts";

const ID_LENGTH = 22;
/** Every replica holds all assistants in memory. The limit does not apply to administrators. */
const ASSISTANTS_MAX = 100;

/**
 * Creates an assistant that the actor owns. Rejects with `invalid_value` for a name that is taken, a model that is not
 * listed or an unknown tool, with `not_found` for a vector store that is not the actor's to use, and with
 * `insufficient_permission` for what only an administrator gives, or a key with more rights.
 */
export async function createAssistant(
  desk: Assistants,
  actor: Actor,
  given: AssistantPatch,
): Promise<Assistant> {
  const { caller } = actor;
  refuseBoundKeyHere(caller);
  const id = `asst_${randomBase62(ID_LENGTH)}`;
  const taken = await checkModels(desk, given, NEW_ASSISTANT);
  return change(desk, actor, frame(desk, "create", id), async (transaction, changeSeq) => {
    const { ownerId } = caller;
    if (caller.role !== "admin") await refuseTooMany(transaction, ownerId);
    await checkFields(transaction, { desk, actor, ownerId, given, before: NEW_ASSISTANT });
    const name = given.name ?? null;
    if (name !== null) await refuseTakenName(transaction, { name, ownId: id, taken });
    const slug = await freeSlug(transaction, name, taken);
    const createdAt = new Date(desk.clock.now());
    const row = {
      ...toRow(given),
      id,
      ownerId,
      slug,
      nameKey: nameKey(name ?? id),
      createdAt,
      changeSeq,
    };
    const [stored] = await transaction.insert(assistants).values(row).returning();
    if (stored === undefined) throw new Error("the new assistant was not returned");
    return { result: toAssistant(stored), details: detailsOf({ ...given, slug }) };
  });
}

interface AssistantChange {
  readonly id: string;
  /**
   * Returns the fields to set on the record as it is. Called again with the record as the transaction reads it, so that
   * what it takes over from the record is no value that another change has replaced.
   */
  readonly patchOf: (before: AssistantFields) => AssistantPatch;
}

/**
 * Sets the given fields. Rejects as `createAssistant` does, with `not_found` for an assistant that does not exist for
 * the actor, and with `insufficient_permission` for one that the actor may only use.
 */
export async function updateAssistant(
  desk: Assistants,
  actor: Actor,
  { id, patchOf }: AssistantChange,
): Promise<Assistant> {
  refuseBoundKeyHere(actor.caller);
  const shown = await desk.database.ask((db) => readChangeable(db, actor, id));
  const taken = await checkModels(desk, patchOf(shown), shown);
  return change(desk, actor, frame(desk, "update", id), async (transaction, changeSeq) => {
    const before = await readChangeable(transaction, actor, id);
    const changed = changedFields(before, patchOf(before));
    if (Object.keys(changed).length === 0) return { result: before, details: null };
    const { ownerId } = before;
    await checkFields(transaction, { desk, actor, ownerId, given: changed, before });
    const { name } = changed;
    if (typeof name === "string") await refuseTakenName(transaction, { name, ownId: id, taken });
    const key = name === undefined ? {} : { nameKey: nameKey(name ?? id) };
    const [stored] = await transaction
      .update(assistants)
      .set({ ...toRow(changed), ...key, changeSeq })
      .where(eq(assistants.id, id))
      .returning();
    if (stored === undefined) throw new Error("the changed assistant was not returned");
    return { result: toAssistant(stored), details: detailsOf(changed) };
  });
}

/**
 * Deletes an assistant. Keys that are bound to it stay bound, and their calls get a 404: unbound they would suddenly
 * call every model. Rejects as `updateAssistant` does.
 */
export function deleteAssistant(desk: Assistants, actor: Actor, id: string): Promise<void> {
  refuseBoundKeyHere(actor.caller);
  return change(desk, actor, frame(desk, "delete", id), async (transaction) => {
    const { name, slug, ownerId } = await readChangeable(transaction, actor, id);
    await transaction.delete(assistants).where(eq(assistants.id, id));
    return { result: undefined, details: auditDetails({ name, slug, ownerId }) };
  });
}

async function readChangeable(db: Db, { caller }: Actor, id: string): Promise<Assistant> {
  const found = await readAssistant(db, caller, id);
  if (mayChange(found, caller)) return found;
  throw new ServiceError(
    "insufficient_permission",
    "Only the owner of an assistant and administrators may change it.",
  );
}

/** Returns the names that models have. Outside the transaction, because it may have to ask the model servers. */
async function checkModels(
  { models }: Assistants,
  { model }: AssistantPatch,
  before: AssistantFields,
): Promise<ReadonlySet<string>> {
  const taken = await modelKeys(models);
  if (model != null && model !== before.model && models.find(model) === undefined) {
    throw new ServiceError(
      "invalid_value",
      "'model' must be a chat model of GET /v1/models, or null for the default one.",
      { param: "model" },
    );
  }
  return taken;
}

interface Check {
  readonly desk: Assistants;
  readonly actor: Actor;
  /** Of the assistant. */
  readonly ownerId: string | null;
  readonly given: AssistantPatch;
  readonly before: AssistantFields;
}

async function checkFields(
  transaction: Db,
  { desk, actor, ownerId, given, before }: Check,
): Promise<void> {
  await refuseGrants(transaction, actor.caller, given, before);
  refuseUnknownTools(given.tools, before.tools, desk.isTool);
  const added = given.vectorStoreIds?.filter((id) => !before.vectorStoreIds.includes(id));
  await refuseForeignStores(transaction, { caller: actor.caller, ownerId }, added ?? []);
}

/** Assistants are created one after the other, so that two at once cannot both find room. */
async function refuseTooMany(transaction: Db, ownerId: string): Promise<void> {
  const [counted] = await transaction
    .select({ total: count() })
    .from(assistants)
    .where(eq(assistants.ownerId, ownerId));
  if ((counted?.total ?? 0) < ASSISTANTS_MAX) return;
  throw new ServiceError(
    "invalid_value",
    `A user has at most ${ASSISTANTS_MAX} assistants; delete some that are no longer used.`,
  );
}

function changedFields(before: Assistant, given: AssistantPatch): AssistantPatch {
  const entries = Object.entries(given).filter(
    ([name, value]) =>
      value !== undefined && !isDeepStrictEqual(value, before[name as keyof AssistantFields]),
  );
  return Object.fromEntries(entries);
}

/** The database's driver takes mutable arrays only. */
function toRow(fields: AssistantPatch) {
  const { tools, vectorStoreIds, sqlConnections, fileConnections, ...rest } = fields;
  return {
    ...rest,
    tools: tools && [...tools],
    vectorStoreIds: vectorStoreIds && [...vectorStoreIds],
    sqlConnections: sqlConnections && [...sqlConnections],
    fileConnections: fileConnections && [...fileConnections],
  };
}

/** Long texts are not repeated in the audit log. */
function detailsOf(fields: AssistantPatch & { readonly slug?: string }) {
  const { instructions, description, noAnswerText, metadata, responseFormat, ...rest } = fields;
  const texts = { instructions, description, noAnswerText, metadata, responseFormat };
  const long = Object.entries(texts).filter(([, value]) => value !== undefined);
  return auditDetails({ ...rest, ...Object.fromEntries(long.map(([name]) => [name, "set"])) });
}

function frame(
  { catchUp }: Assistants,
  verb: "create" | "update" | "delete",
  id: string,
): ChangeFrame {
  return {
    action: `assistant.${verb}`,
    targetKind: "assistant",
    targetId: id,
    counter: { name: "assistants", catchUp },
  };
}
