import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** Within so many pixels of the end somebody is reading along. */
const NEAR_PX = 80;

/** Keeps a growing place at its end, for as long as its reader stays there. */
export function useFollowEnd(content: unknown) {
  const place = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const follows = useRef(true);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const look = () => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      follows.current = left < NEAR_PX;
      setAtEnd(follows.current);
    };
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, []);
  const goToEnd = useCallback(() => {
    follows.current = true;
    setAtEnd(true);
    place.current?.scrollTo({ top: place.current.scrollHeight });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the content may make it longer
  useLayoutEffect(() => {
    const element = place.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [content]);
  return { place, isAtEnd, goToEnd };
}
