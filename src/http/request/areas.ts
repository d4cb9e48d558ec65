import { chatErrorForm, type ErrorForm } from "../answers/error-response.ts";
import { messagesErrorForm } from "../families/messages-error-form.ts";
import type { RouteProperties } from "./route.ts";

interface AreaProperties extends RouteProperties {
  readonly errorForm: ErrorForm;
  /** What the 404 of a path says that is not served. */
  readonly hint?: string;
}

/** What holds for every path from a prefix on: for those that no route serves too. */
interface Area extends Partial<AreaProperties> {
  readonly prefix: string;
  /** Only requests of this method; any unless set. */
  readonly method?: string;
}

const ANYWHERE: AreaProperties = {
  licensed: false,
  traced: false,
  probe: false,
  anyAddress: false,
  modelCall: false,
  encodedSlashes: false,
  errorForm: chatErrorForm,
  kind: "other",
};

/** From the widest to the narrowest: of two areas that a path lies in, the later one wins. */
const AREAS: readonly Area[] = [
  { prefix: "/api", kind: "api" },
  // What is posted there starts a workflow. Looking at a run needs no license.
  { prefix: "/api/pipeline", method: "POST", licensed: true },
  { prefix: "/mcp", kind: "mcp", licensed: true, traced: true },
  { prefix: "/v1", kind: "v1", licensed: true, traced: true },
  { prefix: "/v1/docs", licensed: false, traced: false },
  { prefix: "/v1/openapi.json", licensed: false, traced: false },
  { prefix: "/v1/messages", errorForm: messagesErrorForm },
  // As a client sends it whose base URL ends in one /v1 too many.
  {
    prefix: "/v1/v1",
    hint: "The path has /v1 twice: take it off the client's base URL or path.",
  },
  { prefix: "/v1/v1/messages", errorForm: messagesErrorForm },
];

/** The properties of a path that no route serves, and what a route there has unless its definition says otherwise. */
export function areaAt(method: string, path: string): AreaProperties {
  return Object.assign({}, ANYWHERE, ...AREAS.filter((area) => isIn(area, method, path)));
}

function isIn({ prefix, method }: Area, asked: string, path: string): boolean {
  if (method !== undefined && method !== asked) return false;
  return path === prefix || path.startsWith(`${prefix}/`);
}
