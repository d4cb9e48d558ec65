import type { InternalEvent, InternalEventKind } from "./internal-event.ts";
import { pathGlob } from "./path-glob.ts";

/** An event as a subscriber is given it. */
export type DeliveredEvent<Kind extends InternalEventKind = InternalEventKind> = Extract<
  InternalEvent,
  { readonly kind: Kind }
> & {
  /** The same at every try: by it a subscriber knows what it has had already. */
  readonly id: string;
};

export interface Subscription<Kind extends InternalEventKind = InternalEventKind> {
  /** Shown where a delivery fails. */
  readonly name: string;
  readonly kinds: readonly Kind[];
  /** Only of files whose path this filter matches, see pathGlob; unset is of all. */
  readonly path?: string | undefined;
  /**
   * Takes an event in, quickly: what takes long is stored here and done elsewhere. When it rejects or has not ended
   * when `signal` aborts, the event is tried again later, with all its subscribers.
   */
  readonly handle: (event: DeliveredEvent<Kind>, signal: AbortSignal) => Promise<void>;
}

/** A subscription of whatever kinds. */
export interface Subscriber {
  readonly name: string;
  readonly wants: (event: DeliveredEvent) => boolean;
  readonly handle: (event: DeliveredEvent, signal: AbortSignal) => Promise<void>;
}

/** Throws a RangeError when the path filter is too long. */
export function toSubscriber<Kind extends InternalEventKind>(
  subscription: Subscription<Kind>,
): Subscriber {
  const { name, kinds, path = "", handle } = subscription;
  const isPathMeant = pathGlob(path);
  const isMeant = (event: DeliveredEvent): event is DeliveredEvent<Kind> =>
    kinds.some((kind) => kind === event.kind);
  return {
    name,
    wants: (event) => isMeant(event) && isPathMeant(event.body.path),
    async handle(event, signal) {
      if (isMeant(event)) await handle(event, signal);
    },
  };
}
