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

  /// What the page needs besides.
  static let page = """
    *{box-sizing:border-box}
    html{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,"Noto Sans","Noto Sans CJK SC",sans-serif}
    body{margin:0 auto;max-width:1240px;padding:0 24px 64px}
    h1{font-size:1.5rem;line-height:1.25;margin:24px 0 4px;overflow-wrap:anywhere}h2{font-size:1.2rem;margin:44px 0 8px}
    h3{font-size:1rem;margin:24px 0 4px}p{margin:8px 0;max-width:76ch}
    a{color:var(--a)}:focus-visible{outline:3px solid var(--a);outline-offset:2px}
    .skip{position:absolute;left:-9999px}.skip:focus{left:24px;top:8px;background:var(--paper);padding:8px}
    .soft{color:var(--soft)}nav ol{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;margin:12px 0 0;padding:0;font-size:.9rem}
    #verdict{border-left:6px solid var(--soft);background:var(--card);padding:14px 20px;margin:20px 0}
    #verdict.bad{border-color:var(--bad)}#verdict.good{border-color:var(--good)}#verdict.warning{border-color:var(--warn)}
    #verdict h2{margin:0;font-size:1.3rem;line-height:1.35;max-width:60ch}#verdict .sign{font-size:.8rem;font-weight:700;\
    letter-spacing:.06em;text-transform:uppercase;margin:0}
    .bad .sign{color:var(--bad)}.good .sign{color:var(--good)}.warning .sign{color:var(--warn)}
    #verdict dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px;margin:12px 0 0}
    #verdict dt{font-weight:600;color:var(--soft)}#verdict dt.bad{color:var(--bad)}\
    #verdict dt.warning{color:var(--warn)}#verdict dt.good{color:var(--good)}#verdict dd{grid-column:2;margin:0;overflow-wrap:anywhere}
    .tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:12px;margin:16px 0;padding:0;list-style:none}
    .tiles li{background:var(--card);border:1px solid var(--rule);border-radius:6px;padding:10px 14px}
    .tiles b{display:block;font-size:1.45rem;line-height:1.3;font-variant-numeric:tabular-nums}.tiles span{color:var(--soft);font-size:.85rem}
    .tiles .name{color:var(--ink);font-weight:600}
    figure{margin:8px 0;border-radius:4px}.scroll{overflow-x:auto;max-width:100%;\
    background:linear-gradient(to right,var(--paper) 40%,transparent) 0 0/32px 100%,\
    linear-gradient(to left,var(--paper) 40%,transparent) 100% 0/32px 100%,\
    linear-gradient(to right,var(--rule),transparent) 0 0/12px 100%,\
    linear-gradient(to left,var(--rule),transparent) 100% 0/12px 100%;\
    background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}
    figure svg{display:block;width:100%;min-width:820px;max-width:1072px;height:auto}
    .readout{font-size:.9rem;min-height:1.5em;color:var(--soft);font-variant-numeric:tabular-nums}
    .legend{display:flex;flex-wrap:wrap;gap:2px 20px;font-size:.88rem;color:var(--soft);margin:4px 0;padding:0;list-style:none;max-width:none}
    .legend svg{display:inline-block;width:34px;min-width:34px;height:12px;margin-right:6px;vertical-align:middle}
    table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;width:100%}
    caption{text-align:left;color:var(--soft);padding:4px 0}
    th,td{padding:5px 10px;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap;vertical-align:top}
    th{font-weight:600}thead th{border-bottom:2px solid var(--rule);background:var(--card)}th.n,td.n{text-align:right}
    tbody tr:target{background:var(--card);outline:2px solid var(--a)}
    table.tight{font-size:.75rem}.tight th,.tight td{padding:4px 3px;white-space:normal}.tight td{overflow-wrap:anywhere;min-width:5em}\
    .tight td.n{white-space:nowrap;min-width:0}
    .tight thead th{vertical-align:bottom;position:sticky;top:0}.tight thead th+th.n{writing-mode:vertical-rl}\
    .tight button{text-align:inherit}.tight tr{scroll-margin-top:9em}
    .scroll.high{max-height:85vh;overflow:auto}.scroll::-webkit-scrollbar{width:10px;height:10px;background:var(--card)}
    .scroll::-webkit-scrollbar-thumb{background:var(--soft);border-radius:5px}
    th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-decoration:underline dotted}
    th[aria-sort]::after{content:" \u{25B2}"}th[aria-sort=descending]::after{content:" \u{25BC}"}
    .yes{font-weight:700}.sev-error{color:var(--bad);font-weight:600}.sev-warning{color:var(--warn)}
    details{margin:6px 0}summary{cursor:pointer}details .scroll{max-height:24em;overflow:auto}details.ladder .scroll{max-height:none}
    details.ladder{border:1px solid var(--rule);border-radius:6px;padding:6px 12px;margin:10px 0}details.ladder svg{min-width:860px;width:100%}
    pre{font:12px/1.45 ui-monospace,"Noto Sans Mono",monospace;overflow-x:auto;margin:0}
    .live{display:flex;align-items:center;gap:10px;color:var(--soft);font-size:.9rem}.live.failed{color:var(--bad);font-weight:600}
    .live button{font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:4px;padding:2px 12px;cursor:pointer}
    .filter{display:block;margin:8px 0}.filter input{font:inherit;padding:4px 8px;color:inherit;background:var(--paper);\
    border:1px solid var(--soft);border-radius:4px;min-width:14em;max-width:100%}
    dl{display:grid;grid-template-columns:minmax(9em,max-content) 1fr;gap:6px 20px;margin:8px 0}dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
    .grid{stroke:var(--rule);fill:none}.base{stroke:var(--soft);fill:none}.ax{fill:var(--soft);font-size:12px;font-variant-numeric:tabular-nums}
    .nm{font-weight:600}.hal{paint-order:stroke;stroke:var(--paper);stroke-width:4px}
    .band{fill:var(--band)}.bandtop{fill:var(--bad)}
    .ln{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.p50{stroke:var(--a)}
    .p95{stroke:var(--b);stroke-dasharray:7 4}.p99{stroke:var(--c);stroke-dasharray:1 5;stroke-width:2.5}
    .q4{stroke:var(--good);stroke-dasharray:10 3 2 3}.q5{stroke:var(--soft);stroke-dasharray:3 2}
    .fill{fill:var(--a)}.badfill{fill:var(--bad)}
    .dots{stroke:var(--a);stroke-width:6;stroke-linecap:round;fill:none}.whisker{stroke:var(--soft);fill:none}
    .due{stroke:var(--b);stroke-dasharray:8 5;fill:none}.miss{stroke:var(--bad);stroke-width:2;fill:none}
    .lane{fill:var(--a)}.lane.broken{fill:var(--b)}svg text.onbar{fill:var(--paper);font-size:11px;font-weight:600}
    .cross{stroke:var(--ink);stroke-dasharray:3 3;visibility:hidden;fill:none}.cross.on{visibility:visible}
    @media(max-width:600px){body{padding:0 14px 48px}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:10px}\
    .tiles{grid-template-columns:1fr 1fr;gap:8px}.tight td:not(.n){min-width:9em}.tiles b{font-size:1.2rem}#verdict{padding:12px 14px}#verdict h2{font-size:1.1rem}}
    @media print{html{font-size:12px}body{max-width:none;padding:0}nav,.readout,.filter,.skip,.live{display:none}figure,tr,.tiles li{break-inside:avoid}\
    .scroll,.scroll.high,details .scroll{overflow:visible;max-height:none;background:none}figure svg,details.ladder svg{min-width:0}h2{break-after:avoid}}
    @media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}

    """
}
