/**
 * NAME      words - how servers name a reason
 *   One pattern per reason, for rules.ts. Each is a list of plain alternatives; gaps inside one are bounded and stop
 *   at a full stop, so the cost stays linear. They are tested against lower-case text without addresses and links.
 */
import { anyOf } from './mime.js'

/** SPF, DKIM and DMARC. */
export const BAD_AUTH = anyOf(
  /\bdmarc\b|\bdkim\b|\bspf\b|sender policy framework|sender[- ]id\b.{0,30}fail/,
  /unauthenticated (?:e-?mail|mail|message)/,
  /authentication[ -](?:checks?|results?|information).{0,30}(?:fail|required|missing)/,
  /google:unauthenticatedemail|google:dmarc/,
)

/** The sending host or network is listed, or its name does not resolve. */
export const BLOCKED = anyOf(
  /block[- ]?list|black[- ]?list|deny[- ]?list|\b(?:rbl|dnsbl|rbls|sbl|xbl|pbl|cbl|aup#|bl\d{6})/,
  /spamhaus|spamcop|sorbs|barracuda(?:central)?|senderscore|sender ?base|trustedsource|cloudmark/,
  /liste noire|lista ne(?:ra|gra)|czarn\S+ li[sś][ct]|ч[её]рн\S+ спис|黑名单|黑名單|ブラックリスト|sperrliste|schwarze[nr]? liste|zwarte lijst|(?<!not )\blisted (?:at|by) \S+\.\S/,
  /mailspike|uceprotect|abuseat|spamrats|abusix|directory[- ]harvest|\bharvest(?:ing)? attack|dictionary attack|\byou (?:are|were|have been) (?:currently |temporarily |permanently )?(?:blocked|banned|listed)\b/,
  /invaluement|reputation|open[- ]?relay|\bbanned\b|reverse dns|reverse lookup|\brdns\b|\bptr\b/,
  /(?:dynamic|residential|dial-?up|generic) (?:ip|host|client|pool)|bad helo|invalid helo/,
  /helo (?:command )?rejected|client host .{0,80}rejected|client host rejected|host rejected/,
  /\b(?:ip|host|server|mta|network|domain|address)\b[^.]{0,40}\b(?:is|was|been|are) (?:currently |temporarily |permanently )?(?:blocked|blacklisted|banned|refused|listed|denied)/,
  /blocked (?:by|using|for|due|because|from|at)/,
  /messages? from .{0,60}(?:weren't sent|blocked|refused|rejected)/,
  /mail from .{0,80}(?:refused|blocked|not accepted)/,
  /connection (?:refused|rejected|dropped) (?:by policy|from your|due to)/,
  /your (?:ip|host|server|mail server|domain|network|isp)[^.]{0,60}(?:block|reject|list|den|refus|not allowed|banned)/,
  /not (?:allowed|permitted|authori[sz]ed) to (?:connect|send|deliver)|no access from mail server/,
  /use the smtp server of your isp|smtp service of your isp|bad sender(?:'s)? (?:ip|host)/,
  /access (?:denied|blocked)[^.]{0,40}\b(?:ip|host|client)|too many spam/,
  /not accepting (?:mail|messages|connections) from|configured to reject mail from|refused to talk/,
  /your e-?mail (?:was|has been) (?:blocked|rejected) (?:by|because|for|due)|\bblocked - |your access to (?:submit|this mail)/,
  // the name of an IP address, abroad
  /\b(?:dns|ptr)\b[^.]{0,60}\d{1,3}(?:\.\d{1,3}){3}|\d{1,3}(?:\.\d{1,3}){3}[^.]{0,60}\b(?:dns|ptr)\b|逆引|反向解析|反查|обратн\S+ (?:запис|зон|dns)|reverzní|rückwärtsauflösung|(?:dns|nombre|nome|nom|résolution) (?:inverse|inverso|reverso)|odwrotn\S+ (?:dns|rekord|nazw)|omvänd/,
  /will not accept delivery of this message|\bip=\d|dns (?:mx|ptr|a)\b.{0,20}resource record/,
)

/** The sender address, or anything said at MAIL FROM. */
export const BAD_SENDER = anyOf(
  /sender(?:'s)? (?:e-?mail |mail |envelope )?(?:address|domain|account)?[^.]{0,20}(?:is )?(?:rejected|denied|refused|blocked|banned|not (?:valid|allowed|accepted|exist|found|verified|verify|permitted|authori[sz]ed)|invalid|unknown|disallowed|does ?n[o']t|could not|forged|unresolvable|unrout|cannot|must)/,
  /unrout(?:e)?able sender|sender verif|sender (?:ip|id|callout)|sender was rejected|bad sender|permissions? to send (?:as|on behalf)\b/,
  /spoof|forged|(?:domain|address) of (?:the )?sender|sender domain/,
  /from (?:address|header|field|line|domain)[^.]{0,40}(?:not|invalid|reject|must|missing)/,
  /(?:missing|invalid|no|without) (?:a )?(?:valid )?(?:address in )?from:|from: ?(?:domain|address)|(?:in reply to|after) (?:pipelined )?mail from|mail from command/,
  /return[- ]path[^.]{0,30}(?:not|invalid|reject)|envelope sender|senderfilter/,
  /not (?:a )?valid sender|\byour (?:e-?mail )?account (?:has been|was|is) (?:disabled|deleted|closed|suspended|locked|blocked|terminated|restricted|not)\b|invalid sender|originator (?:unknown|invalid|not)/,
  /exp[ée]diteur|\babsender|remitente|remetente|mittente|afzender|avsändar|afsender|avsender|nadawc|odes[íi]latel/,
  /lähettäj|feladó|gönderen|отправител|发件(?:人|域|服务器)|寄件(?:者|人)|送信(?:者|元)|差出人|보낸 사람|발신자/,
)

export const SPAM = anyOf(
  /\bspam(?!titan|assassin|hero|experts?\b|gate)|\bdt:spm\b|(?:anti|no)-?spam|junk ?mail|unsolicited|bulk e?-?mail|\bube\b|\buce\b|phish|surbl|uribl/,
  /dbl\.|bounce attack|message (?:content )?(?:looks|appears)[^.]{0,30}like|high probability|bayes|scored/,
  /correo no deseado|indésirable|unerwünschte? (?:werbung|nachricht|mail)|indesiderat|垃圾|迷惑メール|нежелательн/,
  /content (?:filter|reject|analysis|scan)|fraudulent|suspicious|mail reje(?:te|cted)\. |ofr_(?!41)\d/,
)

export const VIRUS = /\bvirus(?:es)?\b|malware|infected|trojan|\bworm\b|virus-/

/** Too much, too fast, or greylisted. */
export const RATE = anyOf(
  /\btrop de|zu viele|demasiad[oa]s|\btroppi|\bmuit[oa]s (?:dest|mens|con)|\bte veel|zbyt (?:wiele|dużo)|слишком много|过多|過多|太多/,
  /rate[- ]?limit|throttl|too much recipient|\b(?:rp:qrc|mi:ipr)\b/,
  /too many (?:attempts|messages|connections|e?mails|mails|recipients|concurrent|sessions|errors|invalid|bad|unknown|failed|requests|commands|simultaneous|transactions|hosts)/,
  /(?:hourly|daily|connection|sending|message|email|rate|send|recipient) (?:rate |sending )?(?:limit|quota|threshold)s?[^.]{0,30}(?:exceed|reach|over|hit)/,
  /exceed(?:ed|s|ing)?[^.]{0,30}(?:rate|sending limit|hourly|daily|messages? per|connections?\b|allowed number)/,
  /sending (?:too )?(?:much|fast|rate|limit)|slow down|grey ?list|gray ?list|unusual rate/,
  /receiving mail (?:at a rate|too quickly)|temporarily deferred due to|unexpected volume|frequency limit/,
  /number of (?:recipients|messages|connections)|per (?:hour|minute|day|session|connection)/,
  /google:(?:ratelimit|receivingrate|unsolicitedrate)|try again later because/,
)

export const FULL = anyOf(
  /quota|over ?disk/u,
  /mail ?(?:box|folder|store|drop)(?:'s)?[^.]{0,30}(?:is |was |has )?(?:full|exceed|over|too large|size limit|storage)/,
  /full mail ?box|mailbox_full|(?:in)?box is (?:full|over)/,
  /insufficient (?:disk|mail|mailbox|user )?(?:space|storage)|out of storage/,
  /storage (?:limit|space|quota|allocation)/,
  /exceed(?:s|ed|ing)?[^.]{0,40}(?:storage|space|allowed size|disk|local limit|mailbox|maximum number of)/,
  /disk (?:space|usage|is full|full)|too much mail/,
  /too many (?:messages|mails) (?:in|on) (?:mailbox|server|folder)/,
  /not enough (?:storage|space|disk|room)|no (?:more )?(?:space|room) (?:left|for|in|on)/,
  /cannot store|blocks limit|inode limit|maildir[^.]{0,20}(?:over|full)|full bo[xî]/,
  /volles postfach|google:overquota|boite du destinataire\b/,
  /(?:postfach|mail-?box|briefkasten|bo[iî]te|messagerie|\bbal\b|buz[oó]n|bandeja|casella|caixa|inbox|innboks|indbakke|inkorg|(?:brev|post|in)?låd|post(?:kasse|boks)|postvak|brievenbus|skrzynk|schránk|ящик|メール|受信箱|邮箱|郵箱|信箱|사서함|메일함|편지함|postilaatik|postafiók|kutusu|konto|compte|cuenta|conta\b|empfänger|destinat)[^.。]{0,50}(?<!\p{L})(?:voll|volle[rs]?|überfüllt|pleine?|satur[ée]+|llen[oa]|satura|pien[oa]|chei[oa]|lotad[oa]|vol|pełn[aye]|przepełnion\p{L}*|zapełnion\p{L}*|full|fulla|fullt|fuld|fyldt|täynnä|täysi|pln[áýé]|přeplněn\p{L}*|zaplněn\p{L}*|dolu|doldu|dolmuş\p{L}*|megtelt|переполн\p{L}*|заполнен\p{L}*|полон)(?!\p{L})/u,
  /(?<!\p{L})(?:volle[rs]?|überfüllte[rs]?|pleine?|saturée?|llen[oa]|pien[oa]|chei[oa]|lotada|volle|pełn[aye]|przepełnion\p{L}*|full|fuld|fyldt|täysi|pln[áýé]|přeplněn\p{L}*|dolu|переполненн\p{L}*) (?:\p{L}+ ){0,2}(?:postfach|mail-?box|briefkasten|bo[iî]te|buz[oó]n|bandeja|casella|caixa|inbox|innboks|indbakke|inkorg|brevlåda|post(?:låda|kasse|boks|vak|ilaatikko|a kutusu)|brievenbus|skrzynk|schránk|ящик)/u,
  /(?:メールボックス|受信箱|容量|ボックス)[^。]{0,15}(?:いっぱい|一杯|超え|超過|満杯)|已满|已滿|(?:空间|空間|容量)(?:已)?(?:不足|超)|(?:超过|超出|超過)[^。]{0,8}(?:容量|配额|限额)/,
  /(?:사서함|메일함|편지함|용량)[^.]{0,20}(?:가득|초과|부족)/,
  /(?:speicher|kontingent|stockage|almacenamiento|armazenamento|archiviazione|spazio|espace|espacio|espaço|lagrings|opslag|schijfruimte|miejsc|pojemno|limit|depolama|kapasite|tallennustil|úložišt|místo|tárhely|хранилищ|\sмест|квот|ёмкост)\S*[^.]{0,50}(?:überschritten|erschöpft|voll\b|dépass|insuffisant|épuisé|superad|excedid|agotad|ultrapassad|esgotad|esaurit|superat|insufficient[ei]|overschreden|overskred|överskrid|\bslut\b|przekroczon|brak|překročen|nedostat|aşıl|aştı|yetersiz|\bdol|ylit|loppu|lopussa|недостат|превыш|закончил|исчерпан|megtelt)/,
  /(?:dépass|superad|excedid|rebasad|excedeu|ultrapass|superat|przekroczon|překročen|превышен\p{L}*|недостаточно|brak|nedostatek|недостат)\S*[^.]{0,30}(?:cuota|cota(?!\p{L})|espac|espaç|capaci|quota|spazio|limit|miejsc|pojemno|místa|kvót|квот|мест)/u,
)

export const BIG = anyOf(
  /message (?:is |was )?too (?:big|large|long)/,
  /(?:message|mail|e-?mail|size|attachment|data|header)[^.]{0,40}(?:exceed|larger than|too (?:big|large)|over (?:the )?(?:max|size|limit)|bigger)/,
  /exceed[^.]{0,40}(?:maximum|max\b|fixed|message|size|length|administrative limit|allow)/,
  /(?:max|maximum|size)[^.]{0,20} (?:message )?(?:size|length|limit)|too (?:big|large) for/,
  /size limit/,
)

export const LOOP = anyOf(
  /\bloop|too many (?:hops|received|relays)|hop count|hops? (?:exceed|limit)|routing circular/,
  /circular|mail forwarding.{0,20}(?:recurs|deep)|unrouteable mail domain loop|maximum hop/,
  /max_?hops|too many forwards|count exceeded/,
)

/** A name server that does not answer now; read only together with BAD_NAME. */
export const NAME_TROUBLE = anyOf(
  /try again|temporar(?:y|ily)[^.]{0,40}(?:resol|lookup|look up|dns|name|mx)/,
  /dns (?:server |query |lookup )?(?:time|soft|temporar|servfail|error code|server failure|failed?\b)/,
  /servfail|server fail(?:ure|ed)?|name ?server[^.]{0,30}(?:time|fail|trouble|not respon)/,
  /(?:lookup|resolv|name service|query)[^.]{0,30}(?:timed? ?out|timeout|deferred|soft|defer)/,
)

export const BAD_NAME = /(?:host|domain|name service|mx\b|dns\b|nxdomain|zone|hostname|gateway)/

/** A name that does not exist, or a null MX (RFC 7505). */
export const GONE_DOMAIN = anyOf(
  /host (?:or domain )?(?:name )?(?:is )?(?:unknown|not found|doesn'?t exist|does not exist)/,
  /unknown (?:host|domain|mail host)|\bdomain \S{1,100} (?:was|has been) (?:given up|abandoned)\b/,
  /(?:domain|host)(?: ?name)?[^.;]{0,40}(?:not found|doesn'?t exist|does not exist|is unknown|non-?existent|not exist|can(?:'t|not) be (?:found|resolved)|could not be found|has no (?:mx|mail)|no longer exist|does not accept (?:e-?)?mail(?! (?:from|with|that|sent|without|containing|which|by|via|through|larger|over|above|on|at)\b))/,
  /(?:non-?existent|no such|unregistered) (?:domain|host|mail ?host)|nxdomain|nullmx/,
  /null mx|unrouteable (?:mail )?domain|couldn'?t find any host|name or service not known/,
  /all relevant mx records point to non-existent|illegal host\/domain/,
  /(?:host|domain)(?: ?name)? \S{1,80} (?:was )?(?:not found|does ?n[o']t exist|unknown)/,
  /no (?:valid )?(?:mx|a) (?:record|host)s?[^.]{0,40}(?:found|for)|mx record[^.]{0,20}not found/,
  /no mx found|cannot find (?:your|the|a)? ?(?:host|domain|gateway)|could not find a gateway/,
  /domain is not (?:found|known|registered|hosted)|bad destination (?:host|system|mail)|hôte inconnu/,
  /(?<!\b(?:ihre|votre|su|sua|vostro|uw|ваш) )(?:\bdom(?:ain|äne|aine|inio|ínio|ein|ena|én|éna|änen)\b(?: \S{1,80})?[^.]{0,20}(?:existiert nicht|n['’]existe pas|no existe|non esiste|não existe|bestaat niet|nie istnieje|neexistuje|finns inte|fin[dn]es ikke)|\bdomain nem létezik|tartomány nem létezik|домен\s(?:\S{1,80})?[^.]{0,20}не (?:существует|найден)|(?<!您的)域名(?:\s?\S{1,80}\s?)?不存在|ドメイン(?:\s?\S{1,80}\s?は?)?(?:が|は)?存在しません)/,
  /name server: [^.]{0,60}host not found|address resolution .{0,60}failed/,
)

/** A host or a connection, where the code says that there is no way to the domain; a policy, where it says no. */
export const NOT_REACHED =
  /no route to host|\bconnect(?:ion|ing|ed)?\b|\bnetwork\b|timed? ?out|\brefused\b|den(?:y|ied)\b|\brelay|\bblocked\b|\bpolicy\b|\bloop/

/** Said of our own side, not of the recipient's domain. */
export const ABOUT_US =
  /\b(?:your|sending|sender(?:'s)?|helo|ehlo|client|reverse|originating|from) (?:domain|host|address|server|ip|mail ?server)/

/** Trouble of the moment, whatever the code says: address verification that could not verify, a directory that is down. */
export const FOR_NOW = anyOf(
  /temporar(?:y|ily)|vorübergehend|wartung|wegen eines fehlers|bitte wiederholen|derzeit|temporairement|momentan|pour le moment|temporalmente|por ahora|en este momento|no momento|temporaneamente|al momento|tijdelijk|op dit moment|tillfällig|för närvarande|tymczasow|chwilowo|dočasn|momentáln|átmenetileg|jelenleg|временно|в данный момент|一時的|暂时|暫時|일시적/,
  /try again|(?:try|retry|send|resend|come back)\b[^.]{0,30}\blater\b|(?:address|user|alias|recipient|mailbox) lookup fail|lookup (?:was )?(?:deferred|timed)|servfail|call-?(?:out|back)\b|\bdns (?:\w+ )?(?:failure|trouble|problem)|unexpected name ?server reply/,
  /(?:can(?:not|'t| not)|could(?: not|n't)|unable to|failed to|not able to) verify/,
  /unverified address|undeliverable address: (?:connect|host (?:or|not)\b|.{0,120}\bsaid: 4\d\d)|verification in progress/,
  /(?:connection|operation|ldap|dns|query) tim(?:ed ?out|eout)|database (?:error|unavailable)|directory (?:server |service )?(?:is )?(?:temporarily )?unavailable/,
  /timed? ?out|timeout|unreachable|did not (?:respond|answer)|not responding|(?:currently|momentarily|presently) (?:un\w+|not \w+|offline|busy|closed|full)|at (?:this|the|that) (?:time|moment)\b|right now/,
)
/** Said of our account or our message, not of the recipient. */
export const OUR_SIDE = anyOf(
  /\b(?:anmeld|authentifi|autentifi|identif[ií]quese|inicie sesi|autentic|autentiqu|zalogow|uwierzyteln|přihl[aá]s|jelentkez|logga in|inloggad|meld u\b|inlogg)|авториз|аутентиф|войдите|ログイン|認証|登录|登錄|验证身份|驗證身分/,
  /\byour (?:subscription|plan|contract|licen[cs]e|trial)\b|\b(?:tls|starttls|authentication) (?:is )?required|\bmail from user|\bcredentials?\b|disabled for sending|\bsending ip\b|from header|recipient header/,
  /\bdom\S{3,6} \S{1,80} de s[uo]\b|お客様のドメイン|\b(?:uw|de (?:envío|envio)) account\b|cuenta de envío|conta de envio|compte d.envoi/,
  /not (?:been )?authenticated|\bpasswords?\b|\b(?:at|of|in|by) the (?:sending|sender'?s?|originating) (?:domain|host|server|side|site)/,
  /(?:missing|invalid|bad|no|duplicate|without|unknown|illegal) (?:a )?(?:valid )?message-id|message-id[^.]{0,30}(?:missing|invalid|bad|not|reject)/,
  /attachments?\b[^.]{0,40}(?:not (?:allow|accept|permit)|reject|block|prohibit|forbid|refus|denied)|(?:prohibited|forbidden|illegal|dangerous|blocked|unsafe) attachment/,
)
export const BY_POLICY = anyOf(
  /polic(?:y|ies) (?:violation|reasons?|restrictions?|rejection|block)/,
  /(?:as|due to|violates?|by|per|against|because of) (?:an? |our |local |the |its |your |company |organi[sz]ation |security )*polic/,
  /\bor (?:access (?:is )?den\w+|blocked|refused|rejected|black-?listed)\b/,
)

/** Courtesies and footers that name spam, viruses and other days without meaning ours. */
export const COURTESY: readonly RegExp[] = [
  /(?:check|verify|correct|confirm|review)\b[^.]{0,80}\band (?:then )?(?:try|send|resend)\b(?:[^.]{0,30}?\bagain\b)?(?! later)/g,
  /\b(?:scanned|checked|protected|screened) (?:for|against|by|from|with|using)\b[^.]{0,60}?(?:virus(?:es)?|spam|malware|mailscanner|anti-?virus|threats)\b(?:(?:,| and| or|, and|, or)? (?:virus(?:es)?|spam|malware|phishing|threats)\b){0,3}/g,
  /\b(?:see|read|visit|consult|about) (?:our|the|this) (?:anti-?)?(?:spam|abuse|virus|mail|e-?mail)[- ]polic(?:y|ies)\b/g,
  /\b(?:please )?(?:try|send|resend) (?:it |this )?again with (?:a|an|the) (?:correct|valid|different|right|proper|other) \w+/g,
  /\b(?:no|without|free of|free from) (?:known )?(?:virus(?:es)?|malware)\b|\bvirus[- ]free\b/g,
  /closing (?:the |this )?(?:connection|transmission channel|channel|session)/g,
  // QQ, of every mailbox that there is not
  /(?<=\bmailbox not found) or access denied(?: \[[^\]]{0,80}\])?/g,
  /"[^"]{1,80}\.\w{2,4}"/g,
]

/** Said of the far server, the connection, the sender, a rule: not of the address, though the address may stand beside it. */
export const OF_OTHERS: readonly RegExp[] = [
  // people whom the recipient does not know
  /(?<!\p{L})(?:from|von|des?|d['’]|da|dai|di|van|från|fra|od|от|tuntemattomilta) ?(?:unknowns?|unbekannte?[nrm]?|inconnue?s|inconnu(?=$|[.,;])|desconocidos|desconhecidos|sconosciuti|onbekenden?|okända?|ukendte?|ukjente?|nieznan\p{L}*|neznám\p{L}*|неизвестн\p{L}*)(?!\p{L})/gu,
  /no such file(?: or directory)?|(?:发件|寄件|送信)[^,，。;]{0,30}/g,
  // an error that nobody knows, abroad
  /unbekannte[rsn]? (?:fehler|problem|grund|ausnahme)|(?:erreur|error|errore|erro) (?:inconnue?|desconocid[oa]|sconosciut[oa]|desconhecid[oa])|onbekende fout|nieznany błąd|неизвестн\S+ ошибк\S+|未知(?:的)?[错錯][误誤]|不明なエラー|알 수 없는 오류|okänt fel|ukjent feil|ukendt fejl|tuntematon virhe|ismeretlen hiba|neznámá chyba|bilinmeyen hata|\bunknown (?:error|problem|reason|failure|exception)\b/g,
  /(?:adresse?|direcci[oó]n|indirizzo|endereço|адрес)\S* (?:e-?mail )?(?:ip|\d{1,3}(?:\.\d{1,3}){3}|de retour|de retorno|di ritorno|host)(?![a-z])[^.;]{0,30}/g,
  /(?:ip|client|host|server|antwort|rück(?:sende)?)-?adress?e?[^.;]{0,30}|(?:ip|服务器|伺服器|客户端)\s?(?:地址|アドレス)[^。;]{0,15}/g,
  /\b(?:connection|session|socket|channel|stream|link|servers?|host|backend|peer|daemon|gateway|mta|service|process)(?:\s+(?:has|have|had|was|is|were|been|got|unexpectedly|abruptly|prematurely|by|peer|are|itself)){0,4}\s+(?:closed?s?|closing|dropped|terminated|disabled|removed|moved|changed|aborted|reset|cancell?ed|disconnected|shut ?down|discontinued|unavailable|no longer \w+)\b(?: (?:the |its |this |our )?(?:connection|session))?/g,
  /\b(?:closed|dropped|terminated|aborted|reset|lost|refused|broken|cancell?ed) (?:the |its |this |our )?(?:smtp |tcp |network )?(?:connection|session|socket|channel|conversation|link|transmission)\b/g,
  /\b(?:delivery|message|mail|e-?mail|transfer|attempt|transaction|copy)\b(?! (?:address|account|box|user|alias))[^.:;,]{0,40}\b(?:cancell?ed|aborted|terminated|closed|deleted|removed|discontinued|moved|changed)\b/g,
  /(?<!\bto )(?<!\bto the )\b(?:sender|originator)s?(?:'s)?\b[^.;]{0,60}/g,
  /\b(?:your|sending|my|our|smtp(?: auth)?|auth|authenticated|authenticating|sasl) (?:e-?mail |mail |smtp )?(?:accounts?|mail ?box(?:es)?|users?|domain|user ?name)\b/g,
  /\b(?:account|mail ?box|user)s? (?:that |which |with which |by which )?(?:this|the|our|your) (?:relay|client|host|server|gateway|smart ?host|system|application)s?\b[^.]{0,60}/g,
  /\b(?:account|mail ?box|user)s? (?:sending|that sent|used (?:to|for) send\w*|you are sending|is sending|trying to send|which sent)\b[^.]{0,60}/g,
  /\b(?:ip(?:v[46])?|client|source|host|remote|network|url|web|helo|ehlo|relay|peer|from|reply(?:-to)?|return|sending|originating|your|envelope|bounces?) (?:e-?mail |mail )?address(?:es)?\b/g,
  /\b(?:helo|ehlo|client|reverse|originating|from|return|envelope|rdns|spf|dkim) (?:domain|host(?: ?name)?|name|user)\b/g,
  /\b(?:recipients?|user|customer|subscriber|account|owner) (?:has|have) (?:disabled|closed|removed|deleted|cancell?ed|discontinued|changed|moved|blocked|terminated) (?!to\b|from\b|away\b|on\b|by\b|at\b)\w/g,
]

const ABSENT =
  /(?:nie istnieje|n['’]existe pas|inconnue?s?(?![a-z])|inexist[ae]nte?s?(?![a-z])|no existe|desconocid[oa]|desconhecid[oa]|sconosciut[oa]|non esiste|unbekannte?[rns]?(?![a-z])|existiert nicht|не (?:существует|найден)|(?<!可能)不存在|存在しません|見つかりません)/
    .source
const MAILBOX =
  /(?:adres|address|e-?mail|direcci[oó]n|indirizzo|endereço|us(?:er|uario|u[áa]rio)|utilisateur|utilizador|utente|benutzer|empfänger|destinat|recipient|compte|account|kont[oa]|cuenta|conta(?![a-z])|buz[oó]n|casilla|casella|caixa|bo[iî]te|postfach|mailbox|gebruiker|ontvanger|odbiorc|użytkownik|skrzynk|příjemc|uživatel|schránk|címzett|felhasználó|postafiók|mottagar|användar|brevlåd|пользовател|адрес|получател|ящик|аккаунт|用户|用戶|收件|邮箱|郵箱|信箱|地址|宛先|アドレス|ユーザ|受信者|メールボックス|帐号|账号|帳號)/
    .source
/** What a mailbox has, or what stands in a message: not found, it says nothing of the mailbox. */
const THING =
  /(?:server\p{L}*|serveur|servidor|сервер\p{L}*|サーバー?|服务器|伺服器|certifi[ck]\p{L}*|zertifikat\p{L}*|certyfikat\p{L}*|сертификат\p{L}*|証明書|证书|憑證|tanúsítvány\p{L}*|\p{L}{0,20}schlüssel|\bkeys?\b|clé|clave|chiave|chave|sleutel|klucz\p{L}*|klíč\p{L}*|kulcs\p{L}*|nyckel\p{L}*|ключ\p{L}*|鍵|密钥|\p{L}{0,20}datenbank|base de (?:datos|données|dados)|header\p{L}*|kopfzeile|en-tête|cabecera|cabeçalho|intestazione|in de kop|标头|ヘッダー?|regeln|règles?|politique|pol[ií]tica|zasad\p{L}*|策略|ポリシー|lizenz|licen[cz]\p{L}*|anhang|pièce jointe|adjunto|allegato|anexo|bijlage|collegamento|verbindung|conexión|connexion|数量)/u
    .source

/** Two nouns of which the second is meant: `recipient policy`, `user agent`, `mailbox server`. */
export const COMPOUND: readonly RegExp[] = [
  /undisclosed[- ]recipients?\b|\b(?:user|customer|recipient|account|address)-(?!unknown\b|not\b|does\b)(?:defined|supplied|provided|specific|based|level|related|facing)\b/g,
  /\b(?:recipient|address|user|mail ?box|account|alias|customer|destination)(?:'s|s)?[- ](?:mail |e-?mail |smtp )?(?:servers?|hosts?|database|store|backend|service|gateway|system|mta|mx|network|polic(?:y|ies)|agents?|filter(?:ing)?s?|verification|validation|restrictions?|passwords?|credentials?|authentication|certificates?|session|rules?|settings?|preferences?|scripts?|headers?|lists?|limits?|rates?|quota|directory|lookup|callout|key|token|signature|book|plan|type|class|path|home|inbounds?|outbounds?|counts?|numbers?)\b/g,
  new RegExp(
    `${THING}(?:[ :]+|の|的)(?:\\p{L}{1,12}[ ']){0,2}${MAILBOX}\\p{L}*|${MAILBOX}\\p{L}{0,6}(?:[ :'-]+|の|的)?(?:\\p{L}{1,14}[: ]+){0,2}${THING}`,
    'gu',
  ),
  new RegExp(
    `(?<!\\p{L})(?:fichiers?|dateien?|archivos?|ficheiros?|bestanden?|pliki?|soubory?|fájl\\p{L}*|filen?|файл\\p{L}*)(?!\\p{L})[^.;]{0,30}${ABSENT}`,
    'gu',
  ),
  /\bno valid recipients\b(?! for\b)|\bno valid recipient ?$|\bunknown (?:extension|parameter|option|command|keyword)s?\b/g,
  /\b(?:user ?name|user|account|login)s? ?(?:or|and|\/|&) ?passwords?\b/g,
  /\b(?:to|cc|bcc|from|reply-to|date|subject|received):? (?:header|field|line)s?\b[^.]{0,60}/g,
  /(?:recipients?|address(?:es)?|user)[^.]{0,20}\b(?:in|of) (?:the )?(?:message )?headers?\b/g,
  /\b(?:message|mail|e-?mail|mime)(?:'s)? headers?\b[^.]{0,60}/g,
]

export const EXPIRED = anyOf(
  /expired|given up|giving up(?! on )|gave up|too long|too old|timeout exceeded|delivery time/,
  /retry time(?:out)? (?:not reached|exceeded)|retr(?:y|ies)[^.]{0,30}(?:exceed|timeout|limit|fail)/,
  /could not (?:be )?deliver(?:ed)? (?:for|within|in) (?:the last )?\d/,
  /cannot send (?:message|warning) (?:for|within) /,
  /unable to deliver (?:this|the|your)? ?(?:message|mail)?[^.]{0,20}(?:after|in|for) \d/,
  /not (?:been )?(?:delivered|collected) (?:after|within|in|for) |aborted after/,
  /has been in (?:the )?queue|failing for a long time|maximum (?:queue|retry|delivery)/,
  /undeliverable for|in the queue/,
)

export const NETWORK = anyOf(
  /connection[^.]{0,20}(?:timed? ?out|refused|reset|closed|lost|dropped|failed|broken|interrupted|aborted|error)/,
  /lost connection|\bclosed (?:the |its )?(?:connection|session)|connect(?:ing|ion)? to [^.]{0,80}(?:refused|time|fail)/,
  /network (?:is )?(?:unreachable|down|error)|no route|host is (?:down|unreachable)|unreachable/,
  /not reachable|timed? ?out/,
  /(?:can'?t|cannot|could not|couldn'?t|unable to|not able to|wasn'?t able to) (?:establish|connect|contact|open|make|reach)/,
  /broken pipe|socket|did not accept our requests to connect|no (?:answer|response) from/,
  /not respond|connection attempt|sorry, i wasn't able|failed to connect|no connection/,
  /name service error|dns\b|conversation with|server unavailable|not (?:answer|respond)ing/,
  // Haraka, of a host that is down
  /tried all mxs|nowhere to deliver mail/,
)

export const RELAY = anyOf(
  /relay(?:ing)?(?: is| was| of mail)?(?: access)?[^.]{0,30}(?:denied|(?:not |dis)(?:allowed|permitted|supported)|prohibited|disabled|forbidden|refused|reject|blocked|restrict)/,
  /(?:not|n't|unable|refuse[ds]?|cannot|no) (?:allowed |permitted |able |authori[sz]ed )?(?:to )?relay/,
  /relay(?:ing)? (?:from|to|through)|isn't in my list of allowed rcpthosts/,
  /not (?:a )?(?:local|known) (?:domain|host|gateway)|open relay not|insecure mail relay/,
  /that domain isn't|not a gateway|must authenticate|we do not relay|third[- ]party mail/,
  /you must (?:log|authent|pop)|requires authentication|cannot deliver mail for <\s*>$|authentication (?:is )?required for relay/,
)

export const MOVED = anyOf(
  /\b(?:user|mail ?box|account|recipient|person|address(?:ee)?|customer|subscriber)s? (?:(?:has|have|was|is) )?(?:been )?(?:permanently )?moved\b/,
  /\b(?:e-?mail )?address (?:(?:has|was|is) )?(?:been )?(?:permanently )?(?:changed|replaced)\b/,
  /no longer (?:at|with|works? (?:at|for|here|in)|employed|uses? this)\b|nicht mehr (?:im|in unserem|für unser) unternehmen|quitté la société|ya no trabaja|non lavora più|não trabalha mais|werkt niet meer|nie pracuje już|już nie pracuje/,
  /\bhas moved to an?(?:other| new) (?:e-?mail )?address\b/,
  /left (?:the|our) (?:company|organi[sz]ation)|new (?:e-?mail )?address is\b|changed (?:his|her|their|its) (?:e-?mail )?address\b/,
)

/** Perhaps for a time only. */
export const SUSPENDED = anyOf(
  /(?:account|mail ?box|user|recipient|address|subscriber|customer)[^.]{0,40}(?:suspend|locked|inactive|not active|on hold|expired|temporarily|out of service|unavailable at this time|administratively|deactivat|dormant|restricted|blocked|frozen)/,
  /(?:inactive|suspended|locked|dormant|expired|blocked|deactivated) (?:account|mail ?box|user|recipient|address)/,
  /is (?:currently )?(?:suspended|inactive|locked)|mailbox temporarily|hasn'?t (?:activated|logged)/,
  /not (?:yet )?activated/,
  /(?:konto|postfach|caixa|conta\b|cuenta|buz[oó]n|compte|bo[iî]te|casella|skrzynk|ящик|учетная запись|аккаунт|账号|帐号|用户|アカウント|hesa[bp])[^.。]{0,30}(?:gesperrt|ina[ck]?tiv|inactif|suspen[sd]|bloqu|bloccat|sospes|nieaktywn|blokowan|zawieszon|блокирован|неактив|冻结|凍結|锁定|停止|停用|askıya)/,
)

/** A mailbox that takes mail, but not this one, or that is on its way to another server. */
export const OPEN_TO_OTHERS = anyOf(
  /no longer (?:accept|receiv|tak|allow)\w* (?:(?:any|e-?mails?|mails?|messages?|new|incoming) ){0,3}(?:from|larger|over|with|without|via|unencrypted|unsigned|unsolicited|external|bulk|automated|anonymous|attachments?|html)\b/,
  /\bclosed (?:to|for|by) (?:external|outside|the outside|senders?|non-?members?|the public|the internet|mail from|delivery from)\b/,
  /\b(?:disabled|blocked|closed|turned off|switched off) (?:all |for )?(?:external|outside|internet|foreign|(?:incoming |inbound )?(?:e-?mails?|mails?|messages?|delivery) from)\b/,
  /\b(?:you|sender|author|poster)(?:'re| are| is)? not (?:a |an |the )?(?:\w+ )?(?:member|subscriber|subscribed|moderator|owner)\b/,
  /\bnon-?members?\b|\b(?:must|need to|have to|has to) (?:first )?(?:be|become|subscribe|join)\b(?: (?:an? )?(?:\w+ )?(?:member|subscriber|subscribed)\b)?/,
)
export const ON_ITS_WAY = anyOf(
  /\b(?:is|are|being|currently) (?:being )?(?:migrated|relocated|transferred|moved to)\b|\bbeing moved\b|\bmigration (?:is )?(?:in progress|under ?way|ongoing|pending|running)\b|\bunder migration\b/,
  /\bmoved to (?:an?other|a new|a different|our new|the new|its new) (?:mail )?(?:servers?|hosts?|platform|database|data ?cent\w+|cluster|store|node|backend|tenant)\b/,
  /en cours de (?:transfert|migration|déplacement)|wird (?:gerade |soeben )?(?:umgezogen|verschoben|migriert)|se está (?:migrando|moviendo|trasladando)|in (?:fase di )?migrazione|em migração|wordt (?:nu )?(?:verplaatst|gemigreerd)|w trakcie (?:migracji|przenoszenia)|переносится|移行中|迁移中/,
  /resolver\.adr\.(?:badprimary|ambiguous)/,
)

/** For good. */
export const DISABLED = anyOf(
  /\b(?:account|mail ?box|user|recipient|address|alias|user ?id)\b[^.]{0,40}\b(?:disabled|discontinued|closed|terminated|deleted|removed|cancell?ed|no longer (?:valid|exists?|available|in use|active|on (?:the |this |our )?server|accept\w*|receiv\w*))\b/,
  /\b(?:disabled|closed|deleted|terminated|discontinued|cancell?ed) (?:account|mail ?box|user|recipient|address)\b/,
  /google:disableduser/,
  // what a French provider says of a mailbox that is given up
  /\[suspend\] mailbox currently suspended/,
  /\bmail ?box (?:\w+ ){0,3}(?:was|is|has been) (?:shut down|given up|abandoned)\b/,
)

/** Closed for a reason that passes, or no mailbox at all. */
export const NOT_FOR_GOOD =
  /temporar|\buntil\b|\blocked\b|non-?payment|unpaid|\bbilling\b|\bfrom (?:this|the|our|your) (?:\w+ )?list\b/

/** Likewise abroad, of the mailbox; of the message, our account or a gate for others it is said, too. */
export const DISABLED_ABROAD = new RegExp(
  `(?:${MAILBOX}|postvak|hesa[pb]|schránk|účet|brevlåd|postkass|fiók|уч[её]тная запись)[^.。;:,]{0,50}(?<![\\p{L}])(?:gelöscht|aufgelöst|geschlossen|stillgelegt|supprimée?|fermée?|clôturée?|résiliée?|eliminad[oa]|cerrad[oa]|borrad[oa]|cancelad[oa]|cancellat[oa]|eliminat[oa]|chius[oa]|exclu[íi]d[oa]|encerrad[oa]|removid[oa]|apagad[oa]|verwijderd|opgeheven|beëindigd|usunięt\\p{L}+|skasowan\\p{L}+|zlikwidowan\\p{L}+|zamknięt\\p{L}+|удал[её]н\\p{L}*|закрыт\\p{L}*|видалено|borttag\\p{L}+|raderat|avslutats?|slettet|nedlagt|lukket|poistettu|suljettu|törölt\\p{L}*|törölték|megszűnt|megszüntet\\p{L}+|silin(?:di|miş\\p{L}*)|kapatıl\\p{L}+|zrušen\\p{L}*|smazán\\p{L}*|tagits bort|uppsagt|avslutad|gekündigt|clos|dad[oa] de baja|non è più attiv[oa]|cessat[oa]|plus en service)(?!\\p{L})|(?:用户|用戶|账号|帐号|帳號|邮箱|郵箱|信箱|地址)[^。;,，]{0,8}(?:已|被)?(?:删除|刪除|注销|註銷|关闭|關閉|取消)|(?:アカウント|アドレス|メールボックス|ユーザー?)[^。;]{0,12}(?:削除され|廃止|解約|退会)|(?:退会|解約|廃止)済みの?(?:アカウント|アドレス|メールボックス|ユーザー?)|(?:계정|사서함|사용자|주소|메일함)[^.;]{0,10}(?:삭제|해지|탈퇴|폐쇄)|(?:삭제|해지|탈퇴)(?:한|된) (?:사용자|계정|회원)|(?:megszüntetett|megszűnt|törölt) (?:e-?mail )?(?:fiók|postafiók|postaláda|cím(?!\\p{L})|felhasználó)`,
  'u',
)
export const NOT_OF_MAILBOX = anyOf(
  /nachricht|\bihr|votre|\bvos\b|\bsu (?:cuenta|mensaje)|\bsua (?:conta|mensagem)|vostr[oa]|suo account|\buw\b|\bjouw|twoj|twój|państwa|ваш|您的|你的|あなた|お客様|귀하|hesab[ıi]n[ıi]z|\b(?:din|ditt)\b|\bváš\b|\bfiókod\b|\btilisi\b/,
  /message|mensaje|messaggio|mensagem|bericht|wiadomoś|сообщени|письм|邮件|郵件|信件|消息|附件|メッセージ|메시지|메일이|meddelande|melding|besked|viesti|üzenet|\bileti|zpráv|extern|außerhalb|extérieur|esterno|внешн|外部|외부|zewnętrzn|attach|anhang|pièce|adjunto|allegato|anexo|bijlage|załącznik|влож/,
)

/** Lists, groups and people that take mail from some only. */
export const RESTRICTED = anyOf(
  /not (?:allowed|permitted|authori[sz]ed) to (?:post|write|send (?:mail |messages? |e-?mail )?to|e-?mail)/,
  /\b(?:takes?|accepts?|receives?) (?:e-?mails?|mails?|messages?|only)? ?(?:from )?(?:internal|local|inside|authenticated|known)\b[^.]{0,30}\bonly\b|\binternal (?:e-?mail|mail|messages?|senders?|use)\b[^.]{0,10}\bonly\b/,
  /permission to (?:post|send)|members? only|only (?:members|accepts?|receiv)|restricted/,
  /\b(?:recipients?|user|mailbox|he|she|they)\b(?! server)[^.]{0,30}(?:not (?:accept|want|allow)|refus(?:es|ed)|does ?n[o']t accept|only accept)/,
  /refused by (?:the )?recipient|not accept(?:ing)? (?:mail|messages|e-?mail)/,
  /delivery not authori[sz]ed|moderat|rejected by (?:the )?(?:recipient|user)|block-send-er/,
  /group you tried|auth(?:orization)?required|not authorized|sendernotauthenticated|delivery restriction check|has no permission/,
  /google groups/,
)

/** No word of why: the code must not speak against it. */
export const BARE_REJECTION = /recipient (?:address )?rejected\.? ?(?:$|\(|:? ?$)/

/** "Unknown" and "does not exist" abroad are said of errors, files and hosts, too: a mailbox stands beside, or nothing else. */
const UNKNOWN_ABROAD = new RegExp(
  `${MAILBOX}[^.。;]{0,60}${ABSENT}|${ABSENT}[^.。;:]{0,20}${MAILBOX}|(?:^|<\\s*>)[^a-zа-яà-ÿ\\u3040-\\u9fff~]{0,12}${ABSENT}\\s*(?:$|[.(,!。])`,
)

/** No mailbox and nobody of that name, abroad. */
const NOBODY_ABROAD = anyOf(
  /\b(?:kein(?:e|en)?|aucune?|pas de|ning[uú]na?|nenhuma?|n[aã]o h[aá]|nessun[ao]?|geen|brak|nie ma(?: tu)?|nincs(?: itt)?|ingen|inget) (?:\S+ ){0,2}(?:benutzer|konto|postfach|empfänger|utilisateur|compte|bo[iî]te|buz[oó]n|casilla|usuario|cuenta|caixa(?: postal)?|usuário|utilizador|conta|casella|utente|gebruiker|mailbox|postvak|skrzynk\S*|użytkownik\S*|konta|postafiók|felhasználó|brevlåda|användare|konto|account)\b[^.]{0,20}(?:diese[mnrs] namen|ce nom|(?:ese|este|esse|questo|deze|die|dit|dat|det|detta) (?:nombre|nome|naam|namn|navn)|tej nazwie|takiej nazwie|néven|vorhanden)/,
  /\b(?:niemand|personne|nadie|nessuno|ninguém|ingen|inget|nikogo|nikt|nikdo|senki)\b[^.]{0,25}(?:dieses namens|diesem namen|ce nom|ese nombre|este nome|esse nome|questo nome|(?:die|dit|deze) (?:naam|adres)|det namn(?:et)?|tym imieni\S+|takim imieni\S+|tej nazwie|takov\S+|tohoto jména|ilyen)/,
  /\bnincs (?:ilyen|olyan|ezen a|ezzel a)\b[^.]{0,10}(?:nev|név)\S*[^.]{0,20}(?:felhasznál|fiók|postafiók|címzett)|ilyen nev\S+ (?:felhasználó|postafiók|fiók|címzett) nincs|schránka (?:tohoto|toho|s tímto) (?:jména|jménem)[^.]{0,10} (?:není|neexistuje)/,
  /(?:нет|не найдено) никого с таким|(?:ящика|пользователя|адреса|получателя) с таким (?:именем|адресом)[^.]{0,20}(?:нет|не существует)|(?:неизвестный|несуществующий) (?:пользователь|получатель|адресат|ящик)/,
  /そのような(?:メール)?(?:アドレス|ユーザー?|メールボックス|宛先|アカウント)は[^。]{0,4}(?:おりません|ありません|存在しません)|その名前の[^。]{0,10}(?:おりません|いません|ありません|存在しません)|該当する(?:メールボックス|ユーザー?|アドレス|宛先|アカウント)[^。]{0,5}(?:ありません|いません)|(?:アドレス|メールボックス|アカウント)[^。]{0,10}現在(?:使|ご利用|利用)(?:われて|され)?[^。]{0,5}(?:おりません|いません)/,
  /没有(?:这个|此|该|叫)[^。,，]{0,10}(?:邮箱|用户|帐号|账号|地址|收件人)|(?:未知|不存在的?)(?:的)?(?:用户|用戶|收件人|收件者|邮箱|郵箱|地址)(?![^。]{0,10}(?:过多|太多|過多))|未找到[^。]{0,8}(?:邮箱|用户|收件人|帐号|账号)/,
)

/** A recipient's address that is not valid, abroad; an address alone may be of the header. */
const INVALID_ABROAD =
  /(?:empfänger|destinat[aá]\S*|ontvanger|geadresseerde|odbiorc|adresat|příjemc|címzett|mottagar|получател|宛先|收件人|收件者)[^.。;:]{0,30}(?:ungültig|invalide|invalido|inv[aá]lid[ao]|no es válid[ao]|não é válid[ao]|non valid[ao]|non è valid[ao]|ongeldig|nieprawidłow|niepoprawn|neplatn|érvénytelen|ogiltig|invalid|невер|недействительн|无效|無效|無効)|(?:ungültige[rsn]?|ongeldige?|nieprawidłow[ya]|niepoprawn[ya]|neplatn[áý]|érvénytelen|ogiltig|неверный|недействительный|無効な|无效的?|無效的?)[^.。;:]{0,15}(?:empfänger|ontvanger|odbiorc|adresat|příjemc|címzett|mottagar|получател|宛先|收件人|收件者)/

export const UNKNOWN = anyOf(
  /\b(?:user|account|mail ?box|rcpt|recipient|receiver|(?<!\b(?:ip|from|sender|sending|return|reply) )addresse?e?s?|alias|customer|subscriber|person|local[- ]?part|member|userid)(?:'s)?(?: ?name)?(?: address)?[^.]{0,50}(?:unknown|not found|(?:does ?n[o'’]t|did ?n[o'’]t|does not seem to|did not|do not|not|n'?t)(?: currently| seem to)? exist|no(?:t|n)[- ]?exist|(?:is|was|are|be) ?(?:not|n'?t) (?:valid|known|recogni[sz]ed|listed|registered|available here|local|correct|found|in (?:the|our)|a (?:valid|known|local)|configured to receive|here|defined|unique)|not (?:known|recogni[sz]ed|listed|registered|a valid|valid|found|unique|reachable by)|(?:is |was )?(?:invalid|wrong|incorrect|unrouteable|unroutable|undeliverable|non-?existent)(?! (?:format|state|index|header|cache|certificate|password|size|syntax in))|no longer exist|no such|couldn'?t be found|could ?n[o'’]t be (?:found|resolved)|cannot be (?:found|resolved)|doesn'?t have (?:an? )?|has no (?:mail|account)|may not exist)/,
  /(?:unknown|no such|no known|invalid|non[- ]?existent|bad|illegal|wrong|incorrect|no valid|unrouteable|unroutable|undefined|unrecogni[sz]ed|not a (?:valid|known|local|registered)|not our)(?: local| destination| mail| e-?mail| virtual| primary| forwarding| delivery)? ?(?:local[- ]?part|user|recipient|receiver|mail ?box|addresse?e?|account|destination mailbox|customer|person|alias|local name|member|subscriber)(?:e?s)?(?![a-z-])/,
  /\buser ?unknown\b|\bunknown ?user\b(?!-)|\b(?:bad|invalid|unknown|no_such|nonexistent)_(?:recipient|user|rcpt|mailbox|address)\b/,
  /no (?:mail ?box|user|recipient|account|address|person|one)s?(?: by that name)?(?: is)?(?: currently)? (?:here|by that|found|with (?:that|this)|of that|available|listed|matches|such)/,
  /mailbox unavailable/,
  /mail ?box (?:does|is|not)[^.]{0,10}(?:not (?:exist|found|available|here|local)|unavailable|invalid)/,
  /mailbox [^.]{0,60}unavailable/,
  /recipient (?:address )?(?:rejected|unavailable)[^.]{0,10}(?: |:|\.)? ?(?:user|unknown|undeliverable|invalid|not (?:found|known|valid|exist|a valid|local|here)|no (?:such|mail ?box|user|account|valid))/,
  /recipient not? (?:found|known|valid|exist|local|here|available)/,
  /<\s*>[^.<]{0,12}\b(?:does(?: not|n['’]t) exist|is not a valid|not found|no such)\b/,
  /address (?:could ?n[o'’]t|can ?n[o'’]t|was ?n[o'’]t) be found|^[^a-z]{0,20}address not found/,
  /recipnotfound|recipient ?not ?found|\bdoes ?n[o'’]t belong to any (?:account|user|mail ?box|customer)|\bnot in (?:the|our|my|this) (?:\w+ )?(?:directory|list of (?:valid |known |local )?(?:users|recipients|mailboxes|accounts))\b/,
  /(?:can'?t|cannot|unable to) find[^.]{0,20}(?:user|recipient|mailbox|address)/,
  /address_not_found|could not be found at|nosuchuser|google:nosuchuser/,
  /not (?:listed|present|found) in (?:the |our )?(?:\w+ )?(?:ldap|directory|domino|address book|public)|not listed in|\bno \S+ in (?:name )?directory|validrcptto|no local mailbox|this user doesn/,
  /\bnever had an? (?:customer|user|subscriber|member|account|mail ?box|person) (?:with|by|of|at|under) (?:this|that) (?:e-?mail )?(?:address|name)\b|\buser not local\b[^.]{0,10}\bno forwarding address\b/,
  /does ?n[o'’]t have an account|not a recogni[sz]ed (?:e-?mail )?(?:account|address)|no such mail ?drop/,
  /there is no (?:one|such|user|mail ?box)|nobody here (?:is called|by|of|with) (?:that|this)|\bnot one of our (?:customers|users|subscribers|members)|we have no record|destinataire inconnu/,
  /adresse (?:de destination |d )?(?:e-?mail )?(?:inconnue|invalide|incorrecte)|utilisateur inconnu/,
  /unbekannt(?:er)? (?:empf|benutz)|empfänger unbekannt|kein (?:benutzer|postfach)|adresse (?:\S+ )?gibt es (?:hier |bei uns )?nicht|aucun(?:e)? (?:abonné|client|utilisateur|compte|bo[iî]te)e? ne porte ce nom|postfach (?:mit|unter) diesem namen[^.]{0,40}nicht eingerichtet|adresse n.est (?:plus |pas )?attribuée à personne|onbekende (?:gebruiker|ontvanger|geadresseerde|mailbox)|不明な(?:ユーザー?|宛先|アドレス|受信者)/,
  /usuario (?:desconocido|inexistente|no (?:existe|encontrado|registrado|v[aá]lido|es v[aá]lido|hallado))|destinatario (?:desconocido|inexistente|sconosciuto)/,
  /utente (?:sconosciuto|inesistente|non (?:esiste|trovato|presente|registrato|valido))|mailbox not (?:found|known|valid|here|local|listed|recogni)|addressee unknown/,
  /addresses? failed: unknown/,
  /rcpt .{0,60}failed\b.{0,20}unknown|invalid mailbox|not configured to receive/,
  /account unavailable|\bunavailable (?:mail )?user\b|undeliverable address|not our customer|(?:user|mailbox|rcpt) [^.]{0,60}do(?:es|s)n'?t exist/,
  /nessun utente|destinatario errato|宛先不明|\bbrak (?:takie(?:go|j) |podane(?:go|j) )?(?:użytkownik|adres|kont|skrzynk|odbiorc)|такого (?:пользовател|адрес|получател|ящик)\S* (?:нет|не существует)/,
  /\bgeen (?:mailbox|postvak|postbus|gebruiker|account|ontvanger|adres)\b[^.]{0,20}\b(?:met (?:die|deze)|bekend|gevonden|onder)|(?:bestaat|is er) geen (?:mailbox|postvak|gebruiker|account|ontvanger|adres)/,
  /nincs (?:ilyen|ezen a néven|olyan) [^.]{0,20}(?:felhasználó|postafiók|postaláda|cím|címzett|fiók)|ismeretlen (?:felhasználó|címzett|postafiók|cím\b)/,
  UNKNOWN_ABROAD,
  NOBODY_ABROAD,
  INVALID_ABROAD,
  // what Exchange and others say to the reader, where no code stands beside it
  /(?:empfänger|adresse|benutzer|konto|postfach|mailbox)[^.]{0,90}nicht [^.]{0,40}(?:gefunden|vorhanden|bekannt|aufgelistet|registriert)/,
  /(?:adresse|utilisateur|destinataire|compte|bo[iî]te)[^.]{0,60}(?:introuvable|n.est pas (?:répertorié|connu|valide)|n.a pas été trouvé)/,
  /no se (?:ha encontrado|encontró)[^.]{0,20}(?:direcci[oó]n|usuario|destinatario|cuenta|buz[oó]n)/,
  /(?:direcci[oó]n|usuario|destinatario|cuenta|buz[oó]n)[^.]{0,40}no (?:se )?(?:ha )?(?:(?:sido )?encontrad[oa]|encontró)/,
  /(?:indirizzo|utente|destinatario|casella|account)[^.]{0,40}(?:non (?:è stat[oa] )?trovat|inesistente)/,
  /(?:endereço|usu[áa]rio|utilizador|destinat[áa]rio|conta|caixa)[^.]{0,40}não (?:foi )?(?:encontrad|existe|localizad)/,
  /(?:adres|gebruiker|ontvanger|geadresseerde|postvak|postbus|mailbox|account)[^.]{0,60}(?:niet gevonden|onbekend|bestaat niet)/,
  /(?:adress|användar|mottagar|konto|låda)\S*[^.]{0,40}(?:hittades inte|kunde inte hittas|finns inte|existerar inte)|okänd (?:mottagare|användare|adress)/,
  /(?:adress|bruger|bruker|modtager|mottaker|konto)\S*[^.]{0,40}(?:ikke fu[nd]net|ikke fundet|fin[dn]es ikke|eksisterer ikke)/,
  /(?:ukendt|ukjent) (?:modtager|mottaker|bruger|bruker)|nieznany (?:użytkownik|odbiorca|adresat)/,
  /nie (?:znaleziono|istnieje|ma takie\S+)[^.]{0,20} (?:adres|użytkownik|skrzynk|kont|odbiorc)/,
  /(?:adres|użytkownik|skrzynka|konto|odbiorca)[^.]{0,60}nie (?:istnieje|został\S* znalezion|znaleziono)/,
  /(?:adresa|uživatel|schránka|příjemce|účet)[^.]{0,40}(?:nebyl\S* nalezen|nenalezen|neexistuje)|neznámý (?:uživatel|příjemce)/,
  /(?:osoite|käyttäj|vastaanottaj)\S*[^.]{0,30}(?:ei löyty|ei löydy|ei ole olemassa)|tuntematon (?:vastaanottaja|käyttäjä)/,
  /(?:cím|felhasználó|címzett|postafiók)\S*[^.]{0,30}(?:nem található|nem létezik)/,
  /(?:adres|kullanıcı|alıcı|hesa[pb])\S*[^.]{0,30}(?:bulunamadı|mevcut değil|\byok\b)|bilinmeyen (?:alıcı|kullanıcı|adres)/,
  /нет такого (?:пользовател|адрес|получател|ящик)|не удалось найти [^.]{0,30}адрес/,
  /(?:找不到|没有找到|找不著)[^。]{0,15}(?:地址|用户|收件人|邮箱|使用者)|(?:无此|查无此)(?:用户|人|邮箱)/,
  /unrecogni[sz]ed (?:o\/r |recipient )?name|(?:άγνωστος|δεν υπάρχει)[^.]{0,20}(?:χρήστης|παραλήπτης|διεύθυνση)|(?:χρήστης|παραλήπτης|διεύθυνση)[^.]{0,30}δεν (?:υπάρχει|βρέθηκε)/,
  /(?:utilizator|destinatar)(?:ul)? (?:necunoscut|inexistent)|(?:adresa|utilizatorul|contul)[^.]{0,30}nu există|(?:người dùng|người nhận|địa chỉ|hộp thư)[^.]{0,20}không (?:tồn tại|tìm thấy)/,
  /(?:pengguna|penerima|alamat)[^.]{0,20}tidak (?:ditemukan|dikenal|ada)|(?:користувач|адрес|скриньк)\S*[^.]{0,20}не (?:знайдено|існує)|(?:потребител|адрес)\S*[^.]{0,20}не съществува/,
  /nepoznat(?:i)? (?:korisnik|primatelj|primalac)|(?:korisnik|adresa|primatelj)[^.]{0,20}ne postoji|(?:používateľ|adresa|príjemca)[^.]{0,20}neexistuje|neznámy (?:používateľ|príjemca)|usuari desconegut/,
  /(?:주소|사용자|수신자|받는 사람|계정|사서함)[^.]{0,20}(?:찾을 수 없|존재하지 않)|존재하지 않는 (?:사용자|주소|계정|메일)/,
)

export const SYSTEM = anyOf(
  /system (?:error|failure|config|problem)|internal (?:server )?error/,
  /server (?:error|configuration|busy|down|problem)|configuration error/,
  /(?:database|directory) unavailable|service (?:not available|unavailable|temporarily)|local (?:error|configuration)|i\/o error/,
  /input\/output|out of memory|resources? (?:are )?(?:temporarily|restricted|unavailable)/,
  /insufficient (?:system )?resources|can'?t (?:create|open|write|allocate)/,
  /cannot (?:create|open|write|append)|read-only|permission denied|command died/,
  /exit(?:ed)? (?:status|with)|process|crash|error writing|lmtp|mailer error/,
  /(?:content|virus|mail) ?(?:filter|scanner)[^.]{0,30}(?:unavailable|error|fail)|maintenance/,
  /error in processing|requested action aborted|local problem|queue file|callout|transport unavailable/,
)

export const PROTOCOL = anyOf(
  /syntax error|protocol error|command (?:not|unrecognized|out of|unknown)|unrecognized command/,
  /bad (?:command )?sequence|bad syntax|unimplemented|not implemented/,
  /invalid (?:parameter|argument|command)|unsupported|nested mail|need (?:mail|rcpt|helo)/,
  /malformed address|domain literal|smtputf8/,
)

export const CONTENT = anyOf(
  /(?:message|mail|content|attachment|header|subject|body|data|file|e-?mail|format|line|date|charset|mime|8-?bit)[^.]{0,40}(?:not (?:allowed|accepted|permitted|rfc|compliant)|rejected|refused|invalid|missing|malformed|bad|prohibited|denied|too long|unacceptable|not (?:complian|conform))/,
  /header error|rfc ?\d{3,4}|not rfc|message-id|conversion|bare (?:lf|cr)|bad header|header error/,
  /duplicate (?:header|subject|from)|attachment/,
)

export const POLICY = anyOf(
  /polic(?:y|ies)|access denied|denied|not allowed|not permitted|prohibited|refused|unauthori[sz]ed/,
  /forbidden|rejected|administrative|restriction|not accepted|blocked|delivery not|violat/,
)

export const SECURE = anyOf(
  /starttls|\btls\b|\bssl\b|encrypt|certificate/,
  /authentication (?:is )?(?:required|failed|credentials|mechanism)|requiretls/,
)

/** Beside one of these a code for a dead address, with no word to prove it, is not believed. */
export const NOT_DEAD = anyOf(
  /\bips?\b(?! address)|pol[ií]ti(?:ca|que|k)|richtlinie|polityk|политик|策略|ポリシー|liste noire|lista ne|indésirable|deseado|indesiderat|unerwünscht|niechcian|спам|рассылк|реклам|垃圾|迷惑/,
  /bloqu|bloccat|gesperrt|blokowan|блокир|abgelehnt|verweigert|nicht erlaubt|rejet|refus|rechaz|rifiut|rejeitad|recusad|odrzucon|odmow|geweigerd|отклон|отказ|не принят|拒|inhalt|contenu|contenido|contenuto|treść|内容|спис/,
  /inaktiv|inac?tiv[oa](?![a-z])|inactif|suspens[oa](?![a-z])|suspendid|suspendu|sospes|nieaktywn|zawieszon|неактив|冻结|凍結|锁定|鎖定|停止|停用|askıya/,
  /\b(?:polic(?:y|ies)|access denied|(?<!re)blocked|not (?:allowed|permitted|accepted|authori[sz]ed)|prohibit(?:ed|ion)|forbidden|refused|unauthori[sz]ed|abuse|junk|unwanted|limit|too many|denied)\b/,
  /\b(?:connection|session|tls|ssl|certificate|authentication|starttls|timeout|timed out|agent|from:|your|(?<!\bto )(?<!\bto the )sender(?:'s)?)\b/,
  /^(?!.*\b(?:recipient|user|mail ?box|address|account)\b).*\blink:|\brequired\b|non-?payment|unpaid/,
)
