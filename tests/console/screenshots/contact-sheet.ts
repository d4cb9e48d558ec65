export interface Picture {
  /** Its name in the folder of the sheet. */
  readonly file: string;
  readonly title: string;
}

/** Returns a page that shows pictures beside each other, each a link to itself. */
export function contactSheet(pictures: readonly Picture[]): string {
  const items = pictures.map(
    ({ file, title }) =>
      `<figure><a href="${file}"><img src="${file}" alt="${title}"></a><figcaption>${title}</figcaption></figure>`,
  );
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>The console</title>
  <style>
    body { margin: 16px; font: 13px system-ui; background: #888; color: #fff }
    main { display: grid; grid-template-columns: repeat(auto-fill, minmax(280px, 1fr)); gap: 16px; align-items: start }
    figure { margin: 0 }
    img { display: block; width: 100%; max-height: 420px; object-fit: contain; object-position: top left }
  </style>
  <h1>The console</h1>
  <main>
${items.join("\n")}
  </main>
</html>
`;
}
