// The stylesheet of the compliance report: light and dark screens, phones and print.
export const style = `:root{color-scheme:light dark;--ink:light-dark(#16202b,#e6e9ec);--dim:light-dark(#566270,#9aa5b1);--paper:light-dark(#fff,#13171b);--line:light-dark(#dfe3e8,#2d343b);
--soft:light-dark(#f5f7f9,#1b2026);--link:light-dark(#0b5c8a,#7cc4ef);--fail:light-dark(#b3261e,#ff8a80);--warn:light-dark(#9a5b00,#f2b44c);--pass:light-dark(#1b6e3c,#6fcf97);--none:light-dark(#8a949f,#6b7580);--bar:light-dark(#2f6f9f,#5fa8d8)}
*{box-sizing:border-box}
html{font:15px/1.5 ui-sans-serif,system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0 auto;max-width:64rem;padding:2.5rem 1.5rem 4rem}
h1,h2,h3,h4,p,dl,dd,ul,figure{margin:0}
h1{font-size:2.1rem;line-height:1.15;letter-spacing:-.02em;overflow-wrap:anywhere}
h2{font-size:1.35rem;line-height:1.25;letter-spacing:-.01em;margin:3rem 0 1rem;padding-top:1.25rem;border-top:2px solid var(--ink)}
h3{font-size:1.05rem;line-height:1.35}h4{font-size:.8rem;color:var(--dim);font-weight:600;margin:1.9rem 0 .7rem;text-transform:uppercase;letter-spacing:.06em}
a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:.15em}a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.kicker{font-weight:600;color:var(--dim);margin-bottom:.35rem}
.meta{display:flex;flex-wrap:wrap;gap:.3rem 2rem;margin:1rem 0 0;color:var(--dim);font-size:.92rem}.meta div{display:flex;gap:.45rem}.meta dd{color:var(--ink)}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:.75rem;margin:1.75rem 0 .9rem}
.tile{border:1px solid var(--line);border-radius:8px;padding:.75rem 1rem;border-left-width:5px}.tile b{display:block;font-size:1.9rem;line-height:1.1;font-variant-numeric:tabular-nums}.tile span{color:var(--dim);font-size:.88rem}
.tile.fail{border-left-color:var(--fail)}.tile.warn{border-left-color:var(--warn)}.tile.pass{border-left-color:var(--pass)}.tile.not_applicable{border-left-color:var(--none)}
svg{display:block;width:100%;height:auto}svg.ratio{height:12px}
svg .label{fill:var(--ink);font-size:14px}svg .number{fill:var(--dim);font-size:14px;font-variant-numeric:tabular-nums}svg .axis{stroke:var(--line)}
svg .fail{fill:var(--fail)}svg .warn{fill:var(--warn)}svg .pass{fill:var(--pass)}svg .not_applicable{fill:var(--none)}svg .bar{fill:var(--bar)}
.charts{display:grid;grid-template-columns:repeat(2,1fr);gap:1rem}figure{border:1px solid var(--line);border-radius:8px;padding:1rem 1.1rem 1.1rem}figure.wide{grid-column:1/-1}figcaption{font-weight:600;margin-bottom:.75rem}figcaption small{display:block;color:var(--dim);font-weight:400;font-size:.85rem}
.badge{display:inline-block;white-space:nowrap;font-size:.78rem;font-weight:700;line-height:1;padding:.32em .6em;border-radius:4px;border:1px solid;letter-spacing:.01em}
.badge.fail{color:var(--fail)}.badge.warn{color:var(--warn)}.badge.pass{color:var(--pass)}.badge.not_applicable{color:var(--dim)}
table{width:100%;border-collapse:collapse;font-size:.88rem}th,td{text-align:left;vertical-align:top;padding:.5rem .75rem .5rem 0;border-bottom:1px solid var(--line)}th{font-weight:600;color:var(--dim);font-size:.8rem;white-space:nowrap}
td:last-child,th:last-child{padding-right:0}.n:not(:last-child){padding-right:1.4rem}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.at{white-space:nowrap;font-variant-numeric:tabular-nums;color:var(--dim)}
.wrap{overflow-wrap:anywhere}.dim{color:var(--dim)}.id{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.86em;color:var(--dim);overflow-wrap:anywhere}
.scroll{overflow-x:auto}.evidence{table-layout:fixed;min-width:40rem}.evidence .what{width:33%}.evidence .at{width:9.2rem}
.facts{display:block;margin-top:.15rem;font-size:.86em;color:var(--dim);overflow-wrap:anywhere}.facts i{font-style:normal;margin-right:.9em}
.finding{border:1px solid var(--line);border-radius:8px;padding:1.1rem 1.25rem 1.2rem;margin:0 0 1rem}.finding header{display:flex;gap:1rem;justify-content:space-between;align-items:start}
.finding .result{margin:.1rem 0 .8rem;color:var(--dim);font-size:.92rem}.finding .about{display:grid;grid-template-columns:7rem 1fr;gap:.4rem 1rem;font-size:.92rem}.finding dt{color:var(--dim)}.finding .scroll{margin-top:1rem}.finding .more{margin-top:.6rem;color:var(--dim);font-size:.88rem}
.columns{display:grid;grid-template-columns:repeat(2,1fr);gap:0 2.5rem}.notes{max-width:46rem}.notes p{margin:.5rem 0}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--dim);font-size:.85rem}
@media screen and (max-width:720px){body{padding:1.5rem 1rem 3rem}.tiles{grid-template-columns:repeat(2,1fr)}.charts,.columns{grid-template-columns:1fr}.finding{padding:1rem}.finding .about{grid-template-columns:1fr;gap:.1rem}.finding dd{margin-bottom:.5rem}}
@page{size:A4;margin:15mm 14mm 17mm;@bottom-left{content:"Compliance report";font:8pt ui-sans-serif,system-ui,Arial,sans-serif;color:#566270}@bottom-right{content:counter(page) " / " counter(pages);font:8pt ui-sans-serif,system-ui,Arial,sans-serif;color:#566270}}
@media print{:root{color-scheme:light}html{font-size:9.6pt}body{max-width:none;padding:0}h2{break-after:avoid;margin-top:2rem}h4,.finding header,.finding .result,figcaption{break-after:avoid}tr,figure,.tile,.about{break-inside:avoid}.tiles{grid-template-columns:repeat(4,1fr)}thead{display:table-header-group}.finding{break-inside:auto}.scroll{overflow:visible}.evidence{min-width:0}a{color:inherit;text-decoration:none}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}`;
