/** The first page. */
export default function StartPage() {
  return (
    <main>
      <h1 tabIndex={-1}>Sign in</h1>
    </main>
  );
}
