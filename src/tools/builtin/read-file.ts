import type { JsonObject } from "../../lib/json/json.ts";
import type { FileTools } from "../files/open-file-tools.ts";
import { CONNECTION } from "../files/parameters.ts";
import type { Tool } from "../tool.ts";

const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 10_000;
const MAX_OFFSET = 1_000_000_000;
/** Of a path with an escape for each byte. */
const MAX_PATH = 16_384;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    path: {
      type: "string",
      minLength: 1,
      maxLength: MAX_PATH,
      description:
        "The path of the file, relative to the connection, as find_files and search_workspace show it.",
    },
    connection: CONNECTION,
    offset: {
      type: "integer",
      minimum: 1,
      maximum: MAX_OFFSET,
      description: "The first line to return, from 1; 1 unless it is given.",
    },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `How many lines to return at most; ${DEFAULT_LIMIT} unless it is given.`,
    },
  },
  required: ["path"],
  additionalProperties: false,
};

/** Creates the tool that reads one file. */
export function createReadFile(files: FileTools): Tool {
  return {
    name: "read_file",
    description:
      "Returns lines of one file of a file connection. It reads plain text, and the text of PDF, Word, Excel, " +
      "PowerPoint and OpenDocument files. The first line of the result tells where to go on when the file is longer. " +
      "A line of more than 8,192 characters counts as several.",
    level: "read_only",
    parameters: PARAMETERS,
    isAvailable: (assistant) => files.connectionsOf(assistant).length > 0,
    async run({ path, connection, offset, limit }, { assistant, signal }) {
      const text = await files.run(
        {
          kind: "read",
          place: files.choose(assistant, connection),
          path: String(path),
          offset: typeof offset === "number" ? offset : 1,
          limit: typeof limit === "number" ? limit : DEFAULT_LIMIT,
          ...files.limits(),
        },
        signal,
      );
      return { text };
    },
  };
}
