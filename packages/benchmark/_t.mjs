import { Effect, Scope, Exit } from "effect"
import { McpSession, McpConfig } from "@mcp-runtime/core"
const mode=process.argv[2]||""
const config=await Effect.runPromise(McpConfig.decode({name:"x",transport:"stdio",command:"x",...(mode.includes("t")&&{timeouts:{request:null}})}))
const channel={config,open:(ev)=>Effect.succeed({kind:()=>"stdio",sessionId:()=>undefined,negotiated(){},listen:Effect.void,stderrTail:()=>undefined,release(){},
 send(m,sent){ sent?.(undefined); if(m.id===undefined)return; const result=m.method==="initialize"?{protocolVersion:m.params.protocolVersion,capabilities:{tools:{}},serverInfo:{name:"a",version:"1"}}:{content:[{type:"text",text:"x"}]}
 const id=m.id; setImmediate(()=>ev.message({jsonrpc:"2.0",id,result})) }})}
const scope=Effect.runSync(Scope.make())
const s=await Effect.runPromise(McpSession.open(channel).pipe(Scope.extend(scope)))
const loop=Effect.fnUntraced(function*(n){ for(let i=0;i<n;i++) yield* McpSession.callTool(s,{name:"echo",arguments:{text:"a"}}) })
await Effect.runPromise(loop(5000)); gc(); console.log("START")
await Effect.runPromise(loop(100000)); console.log("END"); process.exit(0)
