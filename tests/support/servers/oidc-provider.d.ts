declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  /** As much of it as the tests use: the package has no types of its own. */
  export class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    readonly Grant: new (
      fields: object,
    ) => {
      addOIDCScope: (scope: string) => void;
      save: () => Promise<string>;
    };
    readonly callback: () => (request: IncomingMessage, response: ServerResponse) => void;
    readonly interactionFinished: (
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
    ) => Promise<void>;
  }
}
