import { and, inArray, ne, or } from "drizzle-orm";
import type { ModelCatalog } from "../../backends/models/model-catalog.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { assistants } from "../../db/tables/assistants.ts";
import { randomBase62 } from "../../lib/id.ts";
import { nameKey } from "./name-key.ts";

const MAX_SLUG_LENGTH = 48;
/** A slug that is taken gets a number up to this one, and then something random. */
const MAX_SLUG_NUMBER = 20;
/** Ollama's tag that may be omitted. */
const DEFAULT_TAG = /:latest$/;

/** The keys of all names by which models are called: no assistant has one of them. */
export async function modelKeys(models: Pick<ModelCatalog, "list">): Promise<ReadonlySet<string>> {
  const ids = (await models.list()).map(({ id }) => id);
  return new Set(ids.flatMap((id) => [nameKey(id), nameKey(id.replace(DEFAULT_TAG, ""))]));
}

/**
 * Throws `invalid_value` for a name that a listed model or another assistant has, or that could be mistaken for an id.
 *
 * @param ownId is the assistant that is to have the name.
 */
export async function refuseTakenName(
  transaction: Db,
  { name, ownId, taken }: { name: string; ownId: string; taken: ReadonlySet<string> },
): Promise<void> {
  const key = nameKey(name);
  if (key === "") throw badName("must have a visible character");
  if (key.startsWith("asst_")) throw badName("must not begin as the ids of assistants do");
  if (taken.has(key)) throw badName("is the name of a model; see GET /v1/models");
  const [other] = await transaction
    .select({ id: assistants.id })
    .from(assistants)
    .where(and(hasWord([key]), ne(assistants.id, ownId)));
  if (other !== undefined) throw badName("is taken by another assistant");
}

/** Derives a slug that no model and no assistant has, from the name at its creation. */
export async function freeSlug(
  transaction: Db,
  name: string | null,
  taken: ReadonlySet<string>,
): Promise<string> {
  const base = slugOf(name ?? "") || "assistant";
  const numbered = Array.from({ length: MAX_SLUG_NUMBER - 1 }, (_, at) => `${base}-${at + 2}`);
  const candidates = [base, ...numbered, `${base}-${nameKey(randomBase62(10))}`];
  const rows = await transaction
    .select({ nameKey: assistants.nameKey, slug: assistants.slug })
    .from(assistants)
    .where(hasWord(candidates));
  const used = new Set(rows.flatMap((row) => [row.nameKey, row.slug]));
  const free = candidates.find((word) => !used.has(word) && !taken.has(word));
  if (free === undefined) throw new Error("two random slugs are the same");
  return free;
}

/** Letters, marks and digits of any script, with a hyphen for everything between them. */
function slugOf(name: string): string {
  const words = nameKey(name).replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, "-");
  return [...words]
    .slice(0, MAX_SLUG_LENGTH)
    .join("")
    .replaceAll(/^-+|-+$/g, "");
}

function hasWord(words: readonly string[]) {
  return or(inArray(assistants.nameKey, [...words]), inArray(assistants.slug, [...words]));
}

function badName(reason: string): ServiceError {
  return new ServiceError("invalid_value", `'name' ${reason}. Choose another name.`, {
    param: "name",
  });
}
