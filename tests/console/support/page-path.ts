import type { PageDefinition } from "../../../src/console/page-definition.ts";
import type { Samples } from "./samples/fill-gateway.ts";

/** Returns a page's path with the id of something that is there; in an empty gateway it names nothing. */
export function pathOf({ path }: PageDefinition, samples: Samples): string {
  return path.replaceAll(
    /([\w-]+)\/\$\w+/g,
    (_, list: string) => `${list}/${samples[list] ?? "nothing"}`,
  );
}
