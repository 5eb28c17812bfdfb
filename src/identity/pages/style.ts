/** Style sheet of the sign-in pages. It is inline, so that a page needs no further request. */
import { createHash } from 'node:crypto'

export const style = `
:root{color-scheme:light dark;--ground:#eef1f6;--card:#fff;--ink:#172033;--soft:#5b6680;--line:#c9d1e0;--accent:#0b6e5f;
--accent-ink:#fff;--bad:#a5182b;--bad-ground:#fdecee;--bad-line:#f2b8bf}
@media (prefers-color-scheme:dark){:root{--ground:#10141d;--card:#1a2130;--ink:#e9edf6;--soft:#a0abc2;--line:#39445c;
--accent:#4cc3ae;--accent-ink:#0b1424;--bad:#ffb3bb;--bad-ground:#3a1a22;--bad-line:#7c3540}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.5rem 1rem;background:var(--ground);
color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main{width:100%;max-width:25rem;background:var(--card);border:1px solid var(--line);border-radius:.875rem;padding:2rem;
box-shadow:0 .5rem 2rem rgb(16 24 48/.08)}
.mark{display:flex;align-items:center;gap:.5rem;margin:0 0 1.5rem;color:var(--soft);font-weight:600;letter-spacing:.01em}
.mark svg{width:1.5rem;height:1.5rem;fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}
h1{margin:0 0 .25rem;font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}
p{margin:0 0 1rem}
.soft{color:var(--soft);overflow-wrap:anywhere}
.alert{margin:1.25rem 0 0;padding:.75rem 1rem;border:1px solid var(--bad-line);border-radius:.5rem;background:var(--bad-ground);
color:var(--bad)}
form{margin-top:1.5rem}
label{display:block;margin:0 0 .375rem;font-weight:600}
input{display:block;width:100%;margin:0 0 1.125rem;padding:.625rem .75rem;border:1px solid var(--line);border-radius:.5rem;
background:var(--card);color:inherit;font:inherit}
button{display:block;width:100%;padding:.6875rem 1rem;border:0;border-radius:.5rem;background:var(--accent);
color:var(--accent-ink);font:inherit;font-weight:600;cursor:pointer}
button:hover{filter:brightness(1.08)}
input:focus-visible,button:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
h2{margin:1.75rem 0 .25rem;font-size:1.125rem}
a{color:var(--accent)}
.links{display:flex;justify-content:space-between;gap:1rem;margin:1.25rem 0 0}
.notice{margin:1.25rem 0 0;padding:.75rem 1rem;border:1px solid var(--line);border-radius:.5rem}
.plain{background:none;color:var(--accent);border:1px solid var(--line)}
.row{display:flex;align-items:center;justify-content:space-between;gap:1rem;margin:.5rem 0}
.row form{margin:0}.row button{width:auto;padding:.375rem .75rem}
.codes{columns:2;margin:1rem 0;padding-left:1.25rem;font-family:ui-monospace,monospace}
.qr svg{display:block;width:12rem;height:12rem;margin:1rem auto;background:#fff}
.secret{overflow-wrap:anywhere;font-family:ui-monospace,monospace}
code{font-size:.875rem}
@media (max-width:26rem){main{padding:1.5rem 1.25rem}}
@media (prefers-reduced-motion:no-preference){button{transition:filter .15s}}
`

export const styleSource = `'sha256-${createHash('sha256').update(style).digest('base64')}'`
