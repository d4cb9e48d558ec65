import type { JsonObject } from "../../lib/json/json.ts";
import type { FileTools } from "../files/open-file-tools.ts";
import { CONNECTION, GLOB, WITH_HIDDEN } from "../files/parameters.ts";
import type { Tool } from "../tool.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 500;
const MAX_TEXT = 500;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    text: {
      type: "string",
      minLength: 1,
      maxLength: MAX_TEXT,
      description: "The text to look for, as it stands in one line. It is no regular expression.",
    },
    connection: CONNECTION,
    glob: {
      ...GLOB,
      description: `${GLOB.description} Left out: all files are searched.`,
    },
    case_sensitive: {
      type: "boolean",
      description: "Whether capital and small letters differ; they do not unless this is true.",
    },
    include_hidden: WITH_HIDDEN,
    limit: {
      type: "integer",
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `How many lines to return at most; ${DEFAULT_LIMIT} unless it is given.`,
    },
  },
  required: ["text"],
  additionalProperties: false,
};

/** Creates the tool that finds lines in text files. */
export function createSearchWorkspace(files: FileTools): Tool {
  return {
    name: "search_workspace",
    description:
      "Finds the lines that contain a text in the text files of a file connection, and returns each as " +
      "`path:line: text`. Documents such as PDF and Word are not searched: read those with read_file.",
    level: "read_only",
    parameters: PARAMETERS,
    isAvailable: (assistant) => files.connectionsOf(assistant).length > 0,
    async run(args, { assistant, signal }) {
      const { connection, glob, limit } = args;
      const text = await files.run(
        {
          kind: "search",
          place: files.choose(assistant, connection),
          text: String(args["text"]),
          caseSensitive: args["case_sensitive"] === true,
          glob: typeof glob === "string" ? glob : "**",
          withHidden: args["include_hidden"] === true,
          limit: typeof limit === "number" ? limit : DEFAULT_LIMIT,
          ...files.limits(),
        },
        signal,
      );
      return { text };
    },
  };
}
