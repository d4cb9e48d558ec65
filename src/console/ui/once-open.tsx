import { type ReactNode, Suspense, useState } from "react";

interface OnceOpenProps {
  readonly isOpen: boolean;
  readonly children: ReactNode;
}

/**
 * Renders a dialog from the first time it opens, so that its code, given by `lazy`, is fetched then. It stays
 * afterwards, so that it can close gently.
 */
export function OnceOpen({ isOpen, children }: OnceOpenProps) {
  const [wasOpened, setOpened] = useState(isOpen);
  if (isOpen && !wasOpened) setOpened(true);
  return wasOpened && <Suspense>{children}</Suspense>;
}
