import { type ReactNode, Suspense, useState } from "react";

interface OnceOpenProps {
  readonly isOpen: boolean;
  readonly children: ReactNode;
}

/**
 * Renders a dialog from the first time it opens, so that what never opens costs nothing, and its code, given by
 * `lazyPart`, is fetched then. It stays afterwards, so that it can close gently.
 */
export function OnceOpen({ isOpen, children }: OnceOpenProps) {
  const [wasOpened, setOpened] = useState(isOpen);
  if (isOpen && !wasOpened) setOpened(true);
  return wasOpened && <Suspense>{children}</Suspense>;
}
