import type { JsonObject } from "../../lib/json/json.ts";
import type { FileTools } from "../files/open-file-tools.ts";
import { CONNECTION, GLOB, WITH_HIDDEN } from "../files/parameters.ts";
import type { Tool } from "../tool.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    connection: CONNECTION,
    glob: {
      ...GLOB,
      description: `${GLOB.description} Left out: all files of the connection.`,
    },
    type: {
      type: "string",
      enum: ["file", "folder"],
      description: "What to list: files, which is the default, or folders.",
    },
    include_hidden: WITH_HIDDEN,
    limit: {
      type: "integer",
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `How many to list at most; ${DEFAULT_LIMIT} unless it is given.`,
    },
  },
  additionalProperties: false,
};

/** Creates the tool that lists files by their paths. */
export function createFindFiles(files: FileTools): Tool {
  return {
    name: "find_files",
    description:
      "Lists files of a file connection by their paths, in order, each with its size and the time of its last change " +
      "(UTC). Use it to learn which files there are; read_file reads one of them.",
    level: "read_only",
    parameters: PARAMETERS,
    isAvailable: (assistant) => files.connectionsOf(assistant).length > 0,
    async run({ connection, glob, type, include_hidden, limit }, { assistant, signal }) {
      const text = await files.run(
        {
          kind: "find",
          place: files.choose(assistant, connection),
          glob: typeof glob === "string" ? glob : "**",
          type: type === "folder" ? "folder" : "file",
          withHidden: include_hidden === true,
          limit: typeof limit === "number" ? limit : DEFAULT_LIMIT,
          ...files.limits(),
        },
        signal,
      );
      return { text };
    },
  };
}
