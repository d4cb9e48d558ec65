import { chatErrorForm, type ErrorForm } from "../../answers/error-response.ts";
import { messagesErrorForm } from "../../families/messages-error-form.ts";
import type { RouteProperties } from "./route.ts";

interface AreaProperties extends RouteProperties {
  readonly errorForm: ErrorForm;
  /** The hint in the 404 of a path that is not served. */
  readonly hint?: string;
  /** The prefix that has replaced this one: its paths are redirected there, with all that follows. */
  readonly movedTo?: string;
}

/** The properties of every path below a prefix, including paths that no route serves. */
interface Area extends Partial<AreaProperties> {
  readonly prefix: string;
  /** Restricts the area to requests of this method; any method unless set. */
  readonly method?: string;
}

const ANYWHERE: AreaProperties = {
  licensed: false,
  traced: false,
  probe: false,
  anyAddress: false,
  ownOrigin: false,
  modelCall: false,
  encodedSlashes: false,
  errorForm: chatErrorForm,
  kind: "other",
};

/** The areas from the widest to the narrowest: when a path lies in two areas, the later one wins. */
const AREAS: readonly Area[] = [
  { prefix: "/api", kind: "api" },
  // A POST there starts a workflow. Reading a run needs no license.
  { prefix: "/api/pipeline", method: "POST", licensed: true },
  // What a key calls under /v1, for the console's sessions.
  { prefix: "/api/v1", kind: "v1", licensed: true, traced: true },
  { prefix: "/api/v1/messages", errorForm: messagesErrorForm },
  { prefix: "/api/tool-servers", movedTo: "/api/mcp-servers" },
  // Links into the console hold ids of models.
  { prefix: "/console", encodedSlashes: true },
  { prefix: "/mcp", kind: "mcp", licensed: true, traced: true, ownOrigin: true },
  { prefix: "/v1", kind: "v1", licensed: true, traced: true },
  { prefix: "/v1/docs", licensed: false, traced: false },
  { prefix: "/v1/openapi.json", licensed: false, traced: false },
  { prefix: "/v1/messages", errorForm: messagesErrorForm },
  // The path of a client whose base URL has one /v1 too many.
  {
    prefix: "/v1/v1",
    hint: "The path has /v1 twice: take it off the client's base URL or path.",
  },
  { prefix: "/v1/v1/messages", errorForm: messagesErrorForm },
];

/** Returns the properties of a path that no route serves. They are also the defaults of the routes there. */
export function areaAt(method: string, path: string): AreaProperties {
  return Object.assign({}, ANYWHERE, ...AREAS.filter((area) => isIn(area, method, path)));
}

function isIn({ prefix, method }: Area, asked: string, path: string): boolean {
  if (method !== undefined && method !== asked) return false;
  return path === prefix || path.startsWith(`${prefix}/`);
}
