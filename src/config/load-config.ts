import { relative, resolve, sep } from "node:path";
import { z } from "zod";
import { StartRefusal } from "../lib/folders/start-refusal.ts";
import { databaseFolder, filesFolder, journalsFolder } from "./folders.ts";
import { type Settings, settingsSchema } from "./settings.ts";
import { incompleteSignIn, signInSettings } from "./sign-in-settings.ts";
import {
  findUnknownSettings,
  namesInEnvironmentFile,
  type UnknownSetting,
} from "./unknown-settings.ts";

/** Setting names of earlier releases. They are ignored, and the start logs them once. */
const RETIRED_SETTINGS: readonly RegExp[] = [
  /^MAX_PDF_PAGES$/,
  /^CLOUD_DEFAULT_MAX_TOKENS$/,
  /^SESSION_RAG_/,
  /^RAG_DEFAULT_/,
  /^BOT_RAG_TOP_K$/,
  /^RAG_GROUNDING_INSTRUCTION$/,
];

export interface Config {
  readonly settings: Settings;
  /** Retired names that are set, for a warning. */
  readonly retired: readonly string[];
  /** Names that may be misspelt settings, for a warning. */
  readonly unknown: readonly UnknownSetting[];
}

/** Lists all invalid settings at once, ready to print. The text contains no values, because they may be secrets. */
export class SettingsError extends StartRefusal {
  override readonly name = "SettingsError";
}

/** Every byte of them counts: the keys and vectors of databases that exist were made with them. */
const AS_GIVEN: ReadonlySet<string> = new Set([
  ...["APP_SECRET", "EMBEDDING_QUERY_PREFIX", "EMBEDDING_DOCUMENT_PREFIX"],
]);

/**
 * Reads the settings. Nothing else reads the environment. An empty value counts as unset, so that `NAME=` in an .env
 * file takes the default. So does a blank value, which would be parsed as the number 0. Line ends around a value come from
 * the file that it was read from.
 */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(
    Object.entries(environment)
      .filter(([, value = ""]) => value.trim() !== "")
      .map(([name, value = ""]) => [name, AS_GIVEN.has(name) ? value : withoutLineEnds(value)]),
  );
  const parsed = settingsSchema.safeParse(given, { reportInput: false, error: inOwnWords });
  const wrong = [...(parsed.error?.issues ?? []), ...findConflicts(given)];
  if (!parsed.success || wrong.length > 0) throw new SettingsError(describe(wrong));
  const retired = Object.keys(given).filter((name) =>
    RETIRED_SETTINGS.some((pattern) => pattern.test(name)),
  );
  const others = Object.keys(given).filter((name) => !retired.includes(name));
  const known = Object.keys(settingsSchema.shape);
  const unknown = findUnknownSettings(others, known, namesInEnvironmentFile());
  return { settings: parsed.data, retired, unknown };
}

function withoutLineEnds(value: string): string {
  return value.replace(/^[\r\n]+|[\r\n]+$/g, "");
}

/** Returns the message for an issue whose schema has no message of its own. */
function inOwnWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "too_big") return `must be at most ${issue.maximum}`;
  if (issue.code === "too_small") {
    return `must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`;
  }
  if (issue.code === "invalid_value") return `must be ${issue.values.map(String).join(" or ")}`;
  return undefined;
}

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

const folderSettings = settingsSchema.pick({
  ...{ WATCH_DIRS: true, DATA_DIR: true, JOURNAL_DIR: true, FILES_DIR: true },
});
const signIn = z.object(signInSettings);

/** Finds what is wrong between settings that are valid each, whatever others are. */
function findConflicts(given: Readonly<Record<string, string>>): Issue[] {
  const folders = folderSettings.safeParse(given).data;
  const provider = signIn.safeParse(given).data;
  return [
    ...(folders === undefined ? [] : watchedLoops(folders)),
    ...(provider === undefined ? [] : incompleteSignIn(provider)),
  ];
}

/** Finds watched folders that the service writes to: each event from there would cause the next one. */
function watchedLoops(settings: z.output<typeof folderSettings>): Issue[] {
  const { WATCH_DIRS, DATA_DIR } = settings;
  const message =
    "must not hold what the service writes itself, in DATA_DIR, JOURNAL_DIR and FILES_DIR";
  // The service does not write to other folders in DATA_DIR.
  const written = [
    DATA_DIR,
    journalsFolder(settings),
    filesFolder(settings),
    databaseFolder(DATA_DIR),
  ];
  return WATCH_DIRS.flatMap((folder, index) =>
    written.some((own) => isWithin(own, folder)) ? [{ path: ["WATCH_DIRS", index], message }] : [],
  );
}

function isWithin(path: string, folder: string): boolean {
  return relative(resolve(folder), resolve(path)).split(sep)[0] !== "..";
}

function describe(issues: readonly Issue[]): string {
  const lines = issues.map(({ path: [name, index], message }) => {
    const entry = typeof index === "number" ? ` (entry ${index + 1} of the list)` : "";
    return `  ${String(name)}: ${message}${entry}`;
  });
  return `Invalid settings, nothing was started:\n${lines.join("\n")}\nEach setting is explained in .env.example.`;
}
