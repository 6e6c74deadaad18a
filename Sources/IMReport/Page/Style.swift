/// How drawings and the page look. Colours keep their distance for readers who do not tell red from green, and never say alone what
/// something is.
enum Style {
  /// What drawings need, on a page and in files of their own.
  static let drawing = """
    :root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--ink:#1a1d21;--soft:#59616b;--rule:#d5dae0;--bad:#b3261e;\
    --warn:#8a5300;--good:#00694b;--a:#0060a8;--b:#9a5b00;--c:#a0307c;--band:#b3261e26}
    @media(prefers-color-scheme:dark){:root{--paper:#14171a;--card:#1d2125;--ink:#e8eaed;--soft:#a3abb5;--rule:#3a4149;\
    --bad:#ff8a80;--warn:#f0b35a;--good:#62d3a4;--a:#6cb6ff;--b:#f0b35a;--c:#f29ad0;--band:#ff8a8033}}
    @media print{:root{--paper:#fff;--card:#fff;--ink:#000;--soft:#444;--rule:#bbb;--bad:#b3261e;--warn:#8a5300;--good:#00694b;\
    --a:#0060a8;--b:#9a5b00;--c:#a0307c;--band:#b3261e26}}
    svg{font:13px system-ui,"Noto Sans","Noto Sans CJK SC",sans-serif}
    svg text{fill:var(--ink)}
    .paper{fill:var(--paper)}.life{stroke:var(--soft);stroke-width:1.5;fill:none}.who{font-weight:600}
    .go{stroke:var(--ink);fill:none;stroke-width:1.3}.back{stroke:var(--a)}.again{stroke-dasharray:6 4}
    .tip{fill:var(--ink)}.back+.tip{fill:var(--a)}
    .bad .go{stroke:var(--bad)}.bad .tip{fill:var(--bad)}.bad .lb,.bad .mk,.bad .rm,.bad .it{fill:var(--bad)}.bad .mk{font-weight:700}
    .hush{stroke:var(--soft);stroke-dasharray:2 5;fill:none}.tm{font-variant-numeric:tabular-nums;fill:var(--soft)}
    .it{font-style:italic;fill:var(--soft)}.rm{fill:var(--soft)}
    .lb,.it{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}

    """
}
