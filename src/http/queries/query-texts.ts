import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { RequestContext } from "../request/route.ts";

/**
 * The parameters of a query by name. One that is empty is not given. Throws `invalid_value` for one that comes twice:
 * of two values one would be ignored.
 */
export function queryTexts({ req }: Pick<RequestContext, "req">): Readonly<Record<string, string>> {
  const texts: Record<string, string> = Object.create(null);
  for (const [name, text] of new URL(req.url).searchParams) {
    if (name in texts) throw invalidValue([name.slice(0, NAME_SHOWN)], "one value", text);
    if (text !== "") texts[name] = text;
  }
  return { ...texts };
}

const NAME_SHOWN = 40;
