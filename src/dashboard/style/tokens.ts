/**
 * NAME      tokens - colours, spaces and sizes, each said once
 * DESCRIPTION
 *   Every colour holds for light and dark; `color-scheme` decides, and `data-theme` where a person chose. Text has a
 *   contrast of 4.5:1 on all three surfaces, what can be operated 3:1.
 */
export const TOKENS = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fff, #131416);
  --wash: light-dark(#f7f7f5, #191a1d);
  --sunk: light-dark(#efefec, #222429);
  --line: light-dark(#e3e3df, #2b2d32);
  --edge: light-dark(#85867f, #767981);
  --ink: light-dark(#1a1b1e, #ececea);
  --ink-2: light-dark(#505257, #b4b6bb);
  --ink-3: light-dark(#66686d, #9a9da3);
  --accent: light-dark(#3448b8, #a3b4ff);
  --on-accent: light-dark(#fff, #10142b);
  --accent-wash: light-dark(#edf0fc, #20253f);
  --ok: light-dark(#17703f, #6fcb97);
  --ok-wash: light-dark(#e6f4eb, #14291d);
  --wait: light-dark(#8a5000, #ebb765);
  --wait-wash: light-dark(#fdf0d9, #2f2411);
  --bad: light-dark(#b0251d, #ff9a8f);
  --bad-wash: light-dark(#fdebe9, #3a1b19);
  --fill: light-dark(#8089c4, #6672b8);
  --fill-ok: light-dark(#4f9a70, #4b9a70);
  --fill-wait: light-dark(#c27c14, #c08a35);
  --fill-bad: light-dark(#cc4a41, #d9655b);
  --shade: light-dark(rgb(0 0 0 / .13), rgb(0 0 0 / .6));
  --lift: 0 1px 2px var(--shade), 0 .5rem 1.5rem var(--shade);
  --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem; --s7: 3rem;
  --small: .75rem/1rem; --text: .875rem/1.25rem; --large: 1rem/1.5rem; --head: 1.25rem/1.75rem;
  --r1: 4px; --r2: 6px; --r3: 10px;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;
  --bar: 3rem;
  --rail: 11.5rem;
}
[data-theme=light] { color-scheme: light; }
[data-theme=dark] { color-scheme: dark; }
`
