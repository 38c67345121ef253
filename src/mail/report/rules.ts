/**
 * NAME      rules - the table that tells hard from soft
 * DESCRIPTION
 *   Read from the top; the first rule that holds decides. What says that the
 *   sender, the message or the network was refused stands above what says that
 *   the recipient is unknown, because servers put "user unknown" codes (5.1.1,
 *   5.7.1, 550) on all of them, and a false hard is the costly error. Codes
 *   decide only where no words do, at the end.
 *   Every pattern is a plain alternation with bounded gaps: no backtracking.
 */
import type { Rule } from './classify.js'

const BAD_AUTH =
  /\bdmarc\b|\bdkim\b|\bspf\b|sender policy framework|sender[- ]id\b.{0,30}fail|unauthenticated (?:e-?mail|mail|message)|authentication[ -](?:checks?|results?|information).{0,30}(?:fail|required|missing)|google:unauthenticatedemail|google:dmarc/
const BLOCKED =
  /block[- ]?list|black[- ]?list|deny[- ]?list|\b(?:rbl|dnsbl|rbls|sbl|xbl|pbl|cbl|aup#|bl\d{6})|spamhaus|spamcop|sorbs|barracuda(?:central)?|senderscore|sender ?base|trustedsource|cloudmark|invaluement|reputation|open[- ]?relay|\bbanned\b|reverse dns|reverse lookup|\brdns\b|\bptr\b|(?:dynamic|residential|dial-?up|generic) (?:ip|host|client|pool)|bad helo|invalid helo|helo (?:command )?rejected|client host .{0,80}rejected|client host rejected|host rejected|(?:ip|host|server|mta|network|domain|address)[^.]{0,40}(?:is|was|been|are) (?:currently |temporarily |permanently )?(?:blocked|blacklisted|banned|refused|listed|denied)|blocked (?:by|using|for|due|because|from|at)|messages? from .{0,60}(?:weren't sent|blocked|refused|rejected)|mail from .{0,80}(?:refused|blocked|not accepted)|connection (?:refused|rejected|dropped) (?:by policy|from your|due to)|your (?:ip|host|server|mail server|domain|network|isp)[^.]{0,60}(?:block|reject|list|den|refus|not allowed|banned)|not (?:allowed|permitted|authori[sz]ed) to (?:connect|send|deliver)|no access from mail server|use the smtp server of your isp|smtp service of your isp|bad sender(?:'s)? (?:ip|host)|access (?:denied|blocked)[^.]{0,40}\b(?:ip|host|client)|too many spam|not accepting (?:mail|messages|connections) from|refused to talk|your e-?mail (?:was|has been) (?:blocked|rejected) (?:by|because|for|due)/
const BAD_SENDER =
  /sender(?:'s)? (?:e-?mail |mail |envelope )?(?:address|domain|account)?[^.]{0,20}(?:is )?(?:rejected|denied|refused|blocked|banned|not (?:valid|allowed|accepted|exist|found|verified|verify|permitted|authori[sz]ed)|invalid|unknown|disallowed|does ?n[o']t|could not|forged|unresolvable|unrout|cannot|must)|unrout(?:e)?able sender|sender verif|sender (?:ip|id|callout)|sender was rejected|bad sender|spoof|forged|(?:domain|address) of (?:the )?sender|sender domain|from (?:address|header|field|line|domain)[^.]{0,40}(?:not|invalid|reject|must|missing)|from: ?(?:domain|address)|(?:in reply to|after) (?:pipelined )?mail from|mail from command|return[- ]path[^.]{0,30}(?:not|invalid|reject)|envelope sender|senderfilter|not (?:a )?valid sender|invalid sender|originator (?:unknown|invalid|not)/
const SPAM =
  /\bspam|(?:anti|no)-?spam|junk ?mail|unsolicited|bulk e?-?mail|\bube\b|\buce\b|phish|surbl|uribl|dbl\.|message (?:content )?(?:looks|appears)[^.]{0,30}like|high probability|bayes|scored|content (?:filter|reject|analysis|scan)|fraudulent|suspicious|mail reje(?:te|cted)\. |ofr_\d/
const VIRUS = /\bvirus(?:es)?\b|malware|infected|trojan|\bworm\b|virus-/
const RATE =
  /rate[- ]?limit|throttl|too many (?:messages|connections|e?mails|mails|recipients|concurrent|sessions|errors|invalid|bad|unknown|failed|requests|commands|simultaneous|transactions|hosts)|(?:hourly|daily|connection|sending|message|email|rate|send|recipient) (?:rate |sending )?(?:limit|quota|threshold)s?[^.]{0,30}(?:exceed|reach|over|hit)|exceed(?:ed|s|ing)?[^.]{0,30}(?:rate|sending limit|hourly|daily|messages? per|connections?\b|allowed number)|sending (?:too )?(?:much|fast|rate|limit)|slow down|grey ?list|gray ?list|unusual rate|receiving mail at a rate|messages? temporarily deferred due to|number of (?:recipients|messages|connections)|per (?:hour|minute|day|session|connection)|google:(?:ratelimit|receivingrate|unsolicitedrate)|try again later because/
const FULL =
  /quota|over ?disk|mail ?(?:box|folder|store|drop)(?:'s)?[^.]{0,30}(?:is |was |has )?(?:full|exceed|over|too large|size limit|storage)|full mail ?box|mailbox_full|(?:in)?box is (?:full|over)|insufficient (?:disk|mail|mailbox|user )?(?:space|storage)|out of storage|storage (?:limit|space|quota|allocation)|exceed(?:s|ed|ing)?[^.]{0,40}(?:storage|space|allowed size|disk|local limit|mailbox|maximum number of)|disk (?:space|usage|is full|full)|too much mail|too many (?:messages|mails) (?:in|on) (?:mailbox|server|folder)|not enough (?:storage|space|disk|room)|no (?:more )?(?:space|room) (?:left|for|in|on)|cannot store|blocks limit|inode limit|maildir[^.]{0,20}(?:over|full)|full bo[xî]|boite (?:pleine|du destinataire)|buz[oó]n lleno|casella piena|postfach (?:ist )?voll|volles postfach|google:overquota/
const BIG =
  /message (?:is |was )?too (?:big|large|long)|(?:message|mail|e-?mail|size|attachment|data|header)[^.]{0,40}(?:exceed|larger than|too (?:big|large)|over (?:the )?(?:max|size|limit)|bigger)|exceed[^.]{0,40}(?:maximum|max\b|fixed|message|size|length|administrative limit|allow)|(?:max|maximum|size)[^.]{0,20} (?:message )?(?:size|length|limit)|too (?:big|large) for|size limit/
const LOOP =
  /\bloop|too many (?:hops|received|relays)|hop count|hops? (?:exceed|limit)|routing circular|circular|mail forwarding.{0,20}(?:recurs|deep)|unrouteable mail domain loop|maximum hop|max_?hops|too many forwards|count exceeded/
const NAME_TROUBLE =
  /try again|temporar(?:y|ily)[^.]{0,40}(?:resol|lookup|look up|dns|name|mx)|dns (?:server |query |lookup )?(?:time|soft|temporar|servfail|error code|server failure|failed?\b)|servfail|server fail(?:ure|ed)?|name ?server[^.]{0,30}(?:time|fail|trouble|not respon)|(?:lookup|resolv|name service|query)[^.]{0,30}(?:timed? ?out|timeout|deferred|soft|defer)/
const BAD_NAME = /(?:host|domain|name service|mx\b|dns\b|nxdomain|zone|hostname|gateway)/
const GONE_DOMAIN =
  /host (?:or domain )?(?:name )?(?:is )?(?:unknown|not found|doesn'?t exist|does not exist|invalid)|unknown (?:host|domain|mail host)|(?:domain|host)(?: ?name)?[^.]{0,40}(?:not found|doesn'?t exist|does not exist|is unknown|non-?existent|not exist|invalid|can(?:'t|not) be (?:found|resolved)|could not be found|isn'?t|has no (?:mx|mail)|no longer|does not accept mail|not a valid)|(?:non-?existent|no such|bad|invalid|unregistered) (?:domain|host|mail ?host)|nxdomain|nullmx|null mx|unrouteable (?:mail )?domain|couldn'?t find any host|name or service not known|all relevant mx records point to non-existent|illegal host\/domain|(?:host|domain)(?: ?name)? \S{1,80} (?:was )?(?:not found|does ?n[o']t exist|unknown)|no (?:valid )?(?:mx|a) (?:record|host)s?[^.]{0,40}(?:found|for)|mx record[^.]{0,20}not found|no mx found|cannot find (?:your|the|a)? ?(?:host|domain|gateway)|could not find a gateway|domain is (?:not|no)|bad destination (?:host|system|mail)|hôte inconnu|name server: [^.]{0,60}host not found|address resolution .{0,60}failed/
const EXPIRED =
  /expired|given up|giving up|gave up|too long|too old|timeout exceeded|delivery time|retry time(?:out)? (?:not reached|exceeded)|retr(?:y|ies)[^.]{0,30}(?:exceed|timeout|limit|fail)|could not (?:be )?deliver(?:ed)? (?:for|within|in) (?:the last )?\d|cannot send (?:message|warning) (?:for|within) |unable to deliver (?:this|the|your)? ?(?:message|mail)?[^.]{0,20}(?:after|in|for) \d|not (?:been )?(?:delivered|collected) (?:after|within|in|for) |aborted after|has been in (?:the )?queue|failing for a long time|maximum (?:queue|retry|delivery)|undeliverable for|in the queue/
const NETWORK =
  /connection[^.]{0,20}(?:timed? ?out|refused|reset|closed|lost|dropped|failed|broken|interrupted|aborted|error)|lost connection|connect(?:ing|ion)? to [^.]{0,80}(?:refused|time|fail)|network (?:is )?(?:unreachable|down|error)|no route|host is (?:down|unreachable)|unreachable|not reachable|timed? ?out|(?:can'?t|cannot|could not|couldn'?t|unable to|not able to|wasn'?t able to) (?:establish|connect|contact|open|make|reach)|broken pipe|socket|did not accept our requests to connect|no (?:answer|response) from|not respond|connection attempt|sorry, i wasn't able|failed to connect|no connection|name service error|dns\b|conversation with|server unavailable|not (?:answer|respond)ing/
const RELAY =
  /relay(?:ing)?(?: is| was| of mail)?(?: access)?[^.]{0,30}(?:denied|not (?:allowed|permitted|supported)|prohibited|disabled|forbidden|refused|reject|blocked|restrict)|(?:not|n't|unable|refuse[ds]?|cannot|no) (?:allowed |permitted |able |authori[sz]ed )?(?:to )?relay|relay(?:ing)? (?:from|to|through)|isn't in my list of allowed rcpthosts|not (?:a )?(?:local|known) (?:domain|host|gateway)|open relay not|insecure mail relay|that domain isn't|not a gateway|must authenticate|we do not relay|third[- ]party mail|you must (?:log|authent|pop)|authentication (?:is )?required for relay/
const MOVED =
  /has moved|have moved|(?:address|mailbox|user|account)[^.]{0,30}(?:changed|has been replaced|moved)|no longer (?:at|with|works? (?:at|for|here)|employed|uses? this)|left (?:the|our) (?:company|organi[sz]ation)|new (?:e-?mail )?address is/
const SUSPENDED =
  /(?:account|mail ?box|user|recipient|address|subscriber|customer)[^.]{0,40}(?:suspend|locked|inactive|not active|on hold|expired|temporarily|out of service|unavailable at this time|administratively|deactivat|dormant|restricted|blocked|frozen)|(?:inactive|suspended|locked|dormant|expired|blocked|deactivated) (?:account|mail ?box|user|recipient|address)|is (?:currently )?(?:suspended|inactive|locked)|mailbox temporarily|hasn'?t (?:activated|logged)|not (?:yet )?activated/
const DISABLED =
  /(?:account|mail ?box|user|recipient|address|e-?mail)[^.]{0,40}(?:disabled|discontinued|closed|terminated|deleted|removed|cancell?ed|no longer (?:valid|exist|available|in use|active|on (?:the|this) server|accept|receiv))|(?:disabled|closed|deleted|terminated|discontinued|cancell?ed) (?:account|mail ?box|user|recipient|address)/
const RESTRICTED =
  /not (?:allowed|permitted|authori[sz]ed) to (?:post|write|send (?:mail |messages? |e-?mail )?to|e-?mail)|permission to (?:post|send)|members? only|only (?:members|accepts?|receiv)|restricted|(?:recipient|user|mailbox|he|she|they)[^.]{0,30}(?:not (?:accept|want|allow)|refus(?:es|ed)|does ?n[o']t accept|only accept)|refused by (?:the )?recipient|not accept(?:ing)? (?:mail|messages|e-?mail)|delivery not authori[sz]ed|moderat|rejected by (?:the )?(?:recipient|user)|block-send-er|group you tried|auth(?:orization)?required|not authorized/
const UNKNOWN =
  /(?:user|account|mail ?box|recipient|receiver|addresse?e?s?|alias|customer|subscriber|login|person|local[- ]?part|member|destination|name|e-?mail|userid|id)(?:'s)?(?: ?name)?(?: address)?[^.]{0,50}(?:unknown|not found|(?:does ?n[o'’]t|did ?n[o'’]t|does not seem to|did not|do not|not|n'?t)(?: currently| seem to)? exist|no(?:t|n)[- ]?exist|(?:is|was|are|be) ?(?:not|n'?t) (?:valid|known|recogni[sz]ed|listed|registered|available here|local|correct|found|in (?:the|our)|a (?:valid|known|local)|configured to receive|here|defined|unique)|not (?:known|recogni[sz]ed|listed|registered|a valid|valid|found|unique|reachable by)|(?:is |was )?(?:invalid|wrong|incorrect|unrouteable|unroutable|undeliverable|non-?existent)|no longer exist|no such|couldn'?t be found|could ?n[o'’]t be (?:found|resolved)|cannot be (?:found|resolved)|doesn'?t have (?:an? )?|has no (?:mail|account)|may not exist)|(?:unknown|no such|no known|invalid|non-?existent|bad|illegal|wrong|incorrect|no valid|unrouteable|unroutable|undefined|unrecogni[sz]ed|missing|not a (?:valid|known|local|registered)|not our)(?: local| destination| mail| e-?mail| virtual| primary| forwarding| delivery)? ?(?:local[- ]?part|user|recipient|receiver|mail ?box|addresse?e?|account|destination mailbox|customer|person|alias|login|name|member|id\b|subscriber)|user ?unknown|unknown ?user|no (?:mail ?box|user|recipient|account|address|person|one)s?(?: by that name)?(?: is)?(?: currently)? (?:here|by that|found|with (?:that|this)|of that|available|listed|matches|such)|no recipients?\b(?! (?:limit))|mailbox unavailable|mail ?box (?:does|is|not)[^.]{0,10}(?:not (?:exist|found|available|here|local)|unavailable|invalid)|mailbox [^.]{0,60}unavailable|recipient (?:address )?(?:rejected|unavailable|not|no)[^.]{0,10}(?: |:|\.)? ?(?:access denied|user|unknown|undeliverable|address|invalid|not |no |unverified|mailbox)|recipnotfound|recipient ?not ?found|can'?t (?:find|verify|create)[^.]{0,20}(?:user|recipient|mailbox)|unable to (?:find|verify|validate)[^.]{0,20}(?:user|recipient|mailbox|address)|verify (?:the )?(?:recipient|address|user)|could not be found at|nosuchuser|google:nosuchuser|not listed in|no local mailbox|this user doesn|there is no (?:one|such|user|mail ?box)|we have no record|destinataire inconnu|adresse (?:d )?(?:e-?mail )?(?:inconnue|invalide|incorrecte)|utilisateur inconnu|unbekannt(?:er)? (?:empf|benutz)|empfänger unbekannt|kein (?:benutzer|postfach)|usuario (?:desconocido|inexistente|no)|destinatario (?:desconocido|inexistente|sconosciuto)|utente (?:sconosciuto|non)|mailbox not|addressee unknown|deliveries? to this (?:user|address)|addresses? failed: unknown|recipient (?:address )?rejected\.? ?(?:$|\(|:? ?$)|rcpt .{0,60}failed\b.{0,20}unknown|invalid mailbox|not configured to receive/
const SYSTEM =
  /system (?:error|failure|config|problem)|internal (?:server )?error|server (?:error|configuration|busy|down|problem)|configuration error|service (?:not available|unavailable|temporarily)|local (?:error|configuration)|i\/o error|input\/output|out of memory|resources? (?:temporarily|restricted|unavailable)|insufficient (?:system )?resources|can'?t (?:create|open|write|allocate)|cannot (?:create|open|write|append)|read-only|permission denied|command died|exit(?:ed)? (?:status|with)|process|crash|error writing|lmtp|mailer error|(?:content|virus|mail) ?(?:filter|scanner)[^.]{0,30}(?:unavailable|error|fail)|maintenance|error in processing|requested action aborted|local problem|queue file/
const PROTOCOL =
  /syntax error|protocol error|command (?:not|unrecognized|out of|unknown)|unrecognized command|bad (?:command )?sequence|bad syntax|unimplemented|not implemented|invalid (?:parameter|argument|command)|unsupported|nested mail|need (?:mail|rcpt|helo)|malformed address|domain literal|smtputf8/
const CONTENT =
  /(?:message|mail|content|attachment|header|subject|body|data|file|e-?mail|format|line|date|charset|mime|8-?bit)[^.]{0,40}(?:not (?:allowed|accepted|permitted|rfc|compliant)|rejected|refused|invalid|missing|malformed|bad|prohibited|denied|too long|violat|unacceptable|not (?:complian|conform))|header error|rfc ?\d{3,4}|not rfc|message-id|conversion|bare (?:lf|cr)|bad header|header error|violat|duplicate (?:header|subject|from)|attachment/
const POLICY =
  /polic(?:y|ies)|access denied|denied|not allowed|not permitted|prohibited|refused|unauthori[sz]ed|forbidden|rejected|administrative|restriction|not accepted|blocked|delivery not|violat/
const SECURE =
  /starttls|\btls\b|\bssl\b|encrypt|certificate|authentication (?:required|failed|credentials|mechanism)|requiretls/

export const RULES: readonly Rule[] = [
  // Words that name another cause than the recipient.
  { category: 'virus', text: VIRUS, unless: /antivirus|anti-virus/ },
  { category: 'authentication', text: BAD_AUTH },
  { category: 'sender_rejected', text: BAD_SENDER },
  { category: 'reputation', text: BLOCKED },
  { category: 'rate_limited', text: RATE },
  { category: 'mailbox_full', text: FULL },
  { category: 'relay_denied', text: RELAY },
  { category: 'loop', text: LOOP },
  { category: 'too_big', text: BIG },
  { category: 'spam', text: SPAM },
  // Names that cannot be looked up now, and names that do not exist.
  { category: 'network', text: NAME_TROUBLE, enhanced: ['4.4.'] },
  { category: 'network', text: NAME_TROUBLE, also: BAD_NAME },
  { category: 'network', text: GONE_DOMAIN, enhanced: ['4.'] },
  { category: 'unknown_domain', text: GONE_DOMAIN },
  // The recipient.
  { category: 'unknown_user', enhanced: ['5.1.1', '5.1.10'], text: UNKNOWN },
  { category: 'moved', text: MOVED },
  { category: 'disabled', text: DISABLED },
  { category: 'suspended', text: SUSPENDED },
  { category: 'recipient_rejected', text: RESTRICTED },
  { category: 'unknown_user', text: UNKNOWN },
  // Other words.
  { category: 'expired', text: EXPIRED },
  { category: 'network', text: NETWORK },
  // Enhanced codes, where no words decided.
  { category: 'unknown_user', enhanced: ['5.1.1', '5.1.3', '5.1.10', '5.2.1'] },
  { category: 'unknown_domain', enhanced: ['5.1.2', '5.4.4'] },
  { category: 'moved', enhanced: ['5.1.6'] },
  { category: 'mailbox_full', enhanced: ['5.2.2', '4.2.2'] },
  { category: 'too_big', enhanced: ['5.2.3', '5.3.4'] },
  { category: 'sender_rejected', enhanced: ['5.1.7', '5.1.8', '4.1.8'] },
  { category: 'loop', enhanced: ['5.4.6', '5.4.14'] },
  { category: 'expired', enhanced: ['4.4.7', '5.4.7'] },
  { category: 'authentication', enhanced: ['5.7.20', '5.7.23', '5.7.24', '5.7.26', '5.7.509'] },
  { category: 'content', enhanced: ['5.6.'] },
  { category: 'network', enhanced: ['4.4.', '5.4.'] },
  { category: 'security', text: SECURE },
  { category: 'protocol', text: PROTOCOL },
  { category: 'system', text: SYSTEM },
  { category: 'content', text: CONTENT },
  { category: 'policy', enhanced: ['5.7.', '4.7.'] },
  { category: 'policy', text: POLICY },
  { category: 'system', enhanced: ['4.3.', '5.3.', '4.2.'] },
  { category: 'protocol', enhanced: ['5.5.'] },
  { category: 'too_big', code: [552] },
]
