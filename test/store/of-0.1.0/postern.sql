PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE accounts (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE pools (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  return_path TEXT NOT NULL,
  notify_success INTEGER NOT NULL,
  relayed_means TEXT NOT NULL,
  upstreams TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER -- kept as a name for old mail
);
CREATE UNIQUE INDEX pools_name ON pools (account_id, name) WHERE deleted_at IS NULL;
CREATE TABLE workspaces (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  is_default INTEGER NOT NULL,
  pool_id TEXT REFERENCES pools (id),
  default_from TEXT,
  ambiguous TEXT NOT NULL,
  line_endings TEXT NOT NULL,
  sender_dsn INTEGER NOT NULL,
  restrict_senders INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (account_id, slug)
);
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  mode TEXT NOT NULL,
  scope TEXT NOT NULL,
  workspace_id TEXT REFERENCES workspaces (id),
  lookup TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  rate_limit_per_minute INTEGER
) WITHOUT ROWID;
CREATE INDEX keys_account ON keys (account_id, id);
CREATE TABLE credentials (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  mode TEXT NOT NULL,
  username TEXT,
  hash TEXT,
  cidr TEXT,
  imported INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX credentials_account ON credentials (account_id, id);
CREATE UNIQUE INDEX credentials_username ON credentials (username, workspace_id) WHERE username IS NOT NULL;
CREATE UNIQUE INDEX credentials_range ON credentials (cidr, workspace_id) WHERE cidr IS NOT NULL;
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email TEXT NOT NULL UNIQUE,
  name TEXT,
  hash TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  user_id TEXT REFERENCES users (id),
  lookup TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE rate_windows (
  bucket TEXT NOT NULL, span INTEGER NOT NULL, used INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (bucket, span)
) WITHOUT ROWID;
CREATE TABLE idempotency (
  n INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL,
  test INTEGER NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  token TEXT NOT NULL,
  locked_until INTEGER NOT NULL,
  completed_at INTEGER,
  status INTEGER,
  body TEXT,
  UNIQUE (workspace, test, key)
);
CREATE TABLE bodies (
  n INTEGER PRIMARY KEY, email_id TEXT NOT NULL, created_at INTEGER NOT NULL, content TEXT, raw BLOB NOT NULL
, beside INTEGER NOT NULL DEFAULT 0);
CREATE TABLE skew (ahead INTEGER NOT NULL, behind INTEGER NOT NULL);
CREATE TABLE emails (
  id TEXT PRIMARY KEY,
  workspace INTEGER NOT NULL,
  test INTEGER NOT NULL,
  status TEXT NOT NULL,
  total INTEGER NOT NULL, -- recipients, in each status:
  scheduled INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  deferred INTEGER NOT NULL DEFAULT 0,
  delivered INTEGER NOT NULL DEFAULT 0,
  bounced INTEGER NOT NULL DEFAULT 0,
  canceled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  scheduled_at INTEGER,
  pool INTEGER NOT NULL,
  body INTEGER NOT NULL,
  size INTEGER NOT NULL,
  source TEXT NOT NULL,
  utf8 INTEGER NOT NULL,
  envid TEXT,
  ret TEXT,
  message_id TEXT NOT NULL,
  sender TEXT NOT NULL,
  subject TEXT NOT NULL,
  lists TEXT NOT NULL -- JSON: to, cc, bcc, replyTo, tags, attachments
, mail_from TEXT, require_tls INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX emails_workspace ON emails (workspace, test, id);
CREATE INDEX emails_status ON emails (workspace, test, status, id);
CREATE INDEX emails_message ON emails (message_id) WHERE source = 'smtp';
CREATE TABLE tags (
  workspace INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, email_id TEXT NOT NULL,
  PRIMARY KEY (workspace, name, value, email_id)
) WITHOUT ROWID;
CREATE TABLE recipients (
  id TEXT PRIMARY KEY,
  email_id TEXT NOT NULL,
  workspace INTEGER NOT NULL,
  pool INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  due_at INTEGER,
  boot INTEGER,
  lease_until INTEGER,
  lease_gen INTEGER NOT NULL DEFAULT 0,
  attempting INTEGER, -- the journal of G2: this attempt may reach the final dot
  attempt_upstream TEXT,
  attempt_at INTEGER,
  deadline INTEGER,
  address TEXT NOT NULL,
  address_lc TEXT NOT NULL,
  notify TEXT,
  orcpt TEXT,
  last_response TEXT,
  reason TEXT
, held TEXT, held_due INTEGER) WITHOUT ROWID;
CREATE INDEX recipients_email ON recipients (email_id);
CREATE INDEX recipients_address ON recipients (workspace, address_lc, email_id);
CREATE INDEX recipients_due ON recipients (pool, workspace, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX recipients_leased ON recipients (boot) WHERE boot IS NOT NULL;
CREATE INDEX recipients_deadline ON recipients (deadline) WHERE deadline IS NOT NULL;
CREATE TABLE events (
  email_id TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  recipient_id TEXT,
  source TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  attempt INTEGER,
  applied INTEGER NOT NULL,
  reason TEXT,
  dedupe TEXT,
  more TEXT, -- JSON: reply, mta, detail
  PRIMARY KEY (email_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX events_dedupe ON events (dedupe) WHERE dedupe IS NOT NULL;
CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  pool_id TEXT REFERENCES pools (id),
  domain TEXT,
  email_id TEXT,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX recipients_held ON recipients (held) WHERE held IS NOT NULL;
CREATE TABLE "suppressions" (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL,
  email TEXT NOT NULL,
  origin TEXT NOT NULL,
  source_id TEXT,
  reason TEXT,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (workspace_id, email)
) WITHOUT ROWID;
CREATE INDEX suppressions_workspace ON suppressions (workspace_id, id);
CREATE TABLE domains (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  name TEXT NOT NULL,
  keys TEXT NOT NULL, -- JSON
  verified_at INTEGER,
  checked_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (account_id, name)
) WITHOUT ROWID;
CREATE INDEX domains_account ON domains (account_id, id);
CREATE TABLE pepper (mark TEXT NOT NULL);
CREATE TABLE owed_dsns (
  email_id TEXT NOT NULL,
  action TEXT NOT NULL,
  recipient_id TEXT NOT NULL,
  event_id TEXT NOT NULL, -- what happened
  at INTEGER NOT NULL,
  PRIMARY KEY (email_id, action, recipient_id)
) WITHOUT ROWID;
CREATE INDEX bodies_beside ON bodies (email_id) WHERE beside = 1;
CREATE TABLE made_by (version TEXT NOT NULL);
CREATE TABLE fence (boot INTEGER NOT NULL);
INSERT INTO accounts (id,name,created_at) VALUES ('acct_01m814gwc96fnzxc0mx8nf0rsj','default',1795334631817);
INSERT INTO pools (n,id,account_id,name,kind,return_path,notify_success,relayed_means,upstreams,created_at,updated_at,deleted_at) VALUES (1,'pool_01m814gwc96fnzxc0mx8nf0rsm','acct_01m814gwc96fnzxc0mx8nf0rsj','sandbox','sandbox','verp',1,'delivered','[]',1795334631817,1795334631817,NULL);
INSERT INTO pools (n,id,account_id,name,kind,return_path,notify_success,relayed_means,upstreams,created_at,updated_at,deleted_at) VALUES (2,'pool_01m814gwepczc5tbhhett9411c','acct_01m814gwc96fnzxc0mx8nf0rsj','default','relay','verp',1,'delivered','[]',1795334631894,1795334631894,NULL);
INSERT INTO pools (n,id,account_id,name,kind,return_path,notify_success,relayed_means,upstreams,created_at,updated_at,deleted_at) VALUES (3,'pool_01m814gzsp3w90e5a2e713m9as','acct_01m814gwc96fnzxc0mx8nf0rsj','pool0','relay','verp',1,'delivered','[]',1795334632292,1795334632292,NULL);
INSERT INTO pools (n,id,account_id,name,kind,return_path,notify_success,relayed_means,upstreams,created_at,updated_at,deleted_at) VALUES (4,'pool_01m814gzsqftbmeh78hhzk9j79','acct_01m814gwc96fnzxc0mx8nf0rsj','pool1','relay','verp',1,'delivered','[]',1795334632292,1795334632292,NULL);
INSERT INTO pools (n,id,account_id,name,kind,return_path,notify_success,relayed_means,upstreams,created_at,updated_at,deleted_at) VALUES (5,'pool_01m814gzsqftbmeh78hhzk9j7a','acct_01m814gwc96fnzxc0mx8nf0rsj','pool2','relay','verp',1,'delivered','[]',1795334632292,1795334632292,NULL);
INSERT INTO workspaces (n,id,account_id,name,slug,is_default,pool_id,default_from,ambiguous,line_endings,sender_dsn,restrict_senders,created_at) VALUES (1,'ws_01m814gwc96fnzxc0mx8nf0rsk','acct_01m814gwc96fnzxc0mx8nf0rsj','Default','default',1,NULL,NULL,'retry','strict',1,0,1795334631817);
INSERT INTO workspaces (n,id,account_id,name,slug,is_default,pool_id,default_from,ambiguous,line_endings,sender_dsn,restrict_senders,created_at) VALUES (2,'ws_01m814gwv5bmdtj9w46htdekjb','acct_01m814gwc96fnzxc0mx8nf0rsj','Shop','shop',0,NULL,NULL,'retry','strict',0,0,1795334632293);
INSERT INTO workspaces (n,id,account_id,name,slug,is_default,pool_id,default_from,ambiguous,line_endings,sender_dsn,restrict_senders,created_at) VALUES (3,'ws_01m814gwvc6n99z14w5fktfn0s','acct_01m814gwc96fnzxc0mx8nf0rsj','Blog','blog',0,NULL,NULL,'retry','strict',0,0,1795334632300);
INSERT INTO workspaces (n,id,account_id,name,slug,is_default,pool_id,default_from,ambiguous,line_endings,sender_dsn,restrict_senders,created_at) VALUES (4,'ws_01m814gwvd7b3y8gjvbg3q0mcv','acct_01m814gwc96fnzxc0mx8nf0rsj','News','news',0,NULL,NULL,'retry','strict',0,0,1795334632301);
INSERT INTO keys (id,account_id,name,mode,scope,workspace_id,lookup,hash,created_at,last_used_at,expires_at,rate_limit_per_minute) VALUES ('key_01m814gwtr387whss0p8pzzpr5','acct_01m814gwc96fnzxc0mx8nf0rsj','kit','live','workspace','ws_01m814gwc96fnzxc0mx8nf0rsk','pvgdwlQtIr6u',X'F875FB853DDBBE3D5F2C801320FD4C86D8ED7FE6DAABD0B40FB44CC3F241C4FA',1795334632280,1795334635719,NULL,NULL);
INSERT INTO keys (id,account_id,name,mode,scope,workspace_id,lookup,hash,created_at,last_used_at,expires_at,rate_limit_per_minute) VALUES ('key_01m814gwv1ar1ygt4r0n6c0z7e','acct_01m814gwc96fnzxc0mx8nf0rsj','platform','live','platform',NULL,'dOeaFDibJbbx',X'4A757E14164BDB33AC7A91E63001B779AA78CD5AD2C820CA7CFABBD0BD212AC9',1795334632289,1795334636910,NULL,NULL);
INSERT INTO keys (id,account_id,name,mode,scope,workspace_id,lookup,hash,created_at,last_used_at,expires_at,rate_limit_per_minute) VALUES ('key_01m814gwvebrd51kg8tbj070tr','acct_01m814gwc96fnzxc0mx8nf0rsj','key 0','live','workspace','ws_01m814gwv5bmdtj9w46htdekjb','hrBwjDQ2MPD0',X'247B2872085B4861947E92891B930E6A65E64947B942D31E4F9938396AA65BC0',1795334632302,1795334635846,NULL,NULL);
INSERT INTO keys (id,account_id,name,mode,scope,workspace_id,lookup,hash,created_at,last_used_at,expires_at,rate_limit_per_minute) VALUES ('key_01m814gwvfbs7qmymnmnpaw6ky','acct_01m814gwc96fnzxc0mx8nf0rsj','key 1','live','workspace','ws_01m814gwv5bmdtj9w46htdekjb','HT3qisCBzemS',X'C5F7C1AF395322FF5F22C98870340A1F21B6272E75E6D55762713441374B9490',1795334632303,NULL,NULL,NULL);
INSERT INTO keys (id,account_id,name,mode,scope,workspace_id,lookup,hash,created_at,last_used_at,expires_at,rate_limit_per_minute) VALUES ('key_01m814gwvh5yfz8ndq1cvyp5mp','acct_01m814gwc96fnzxc0mx8nf0rsj','key 3','live','workspace','ws_01m814gwv5bmdtj9w46htdekjb','TKqbVmax310F',X'27722B6EE444059CA2AB3C5C7E7632D14017610623A486602C158118F0A6F22A',1795334632305,NULL,NULL,NULL);
INSERT INTO keys (id,account_id,name,mode,scope,workspace_id,lookup,hash,created_at,last_used_at,expires_at,rate_limit_per_minute) VALUES ('key_01m814gwvh5yfz8ndq1cvyp5mq','acct_01m814gwc96fnzxc0mx8nf0rsj','key 4','live','workspace','ws_01m814gwv5bmdtj9w46htdekjb','pydBmFG34zJM',X'3E8000E45E0C453BC7B8AC697018E8748B9123E00635146730322B045A2CBD92',1795334632305,NULL,NULL,NULL);
INSERT INTO keys (id,account_id,name,mode,scope,workspace_id,lookup,hash,created_at,last_used_at,expires_at,rate_limit_per_minute) VALUES ('key_01m814gwvjezq6kz5djb3gqgkg','acct_01m814gwc96fnzxc0mx8nf0rsj','test','test','workspace','ws_01m814gwc96fnzxc0mx8nf0rsk','pcS8JZ5BX7px',X'4C26C1A4B6FB96BDE387F44302BD2E58D32E484CB6469B4A32DCF92F85D76C74',1795334632306,1795334635916,NULL,NULL);
INSERT INTO credentials (id,account_id,workspace_id,mode,username,hash,cidr,imported,created_at,last_used_at) VALUES ('cred_01m814gwyd4mttvpg6b3ey56dz','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','live','app0','$2b$10$tBAKJMR9BMdGD6cf5nxejux5g/1DcnuyfnekOOzk0QnVLOdAwufJS',NULL,0,1795334632397,NULL);
INSERT INTO credentials (id,account_id,workspace_id,mode,username,hash,cidr,imported,created_at,last_used_at) VALUES ('cred_01m814gxe3a8152eh8xx27fkra','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','live','app1','$2b$10$wFXly2tu3zgA0HPiDZgI/Owk9cYIJsAW5vf/YG7nmwwSYw.ysjvki',NULL,0,1795334632899,NULL);
INSERT INTO credentials (id,account_id,workspace_id,mode,username,hash,cidr,imported,created_at,last_used_at) VALUES ('cred_01m814gy4k7mqew7vxrkz04mpb','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','live','app2','$2b$10$cBNOVGeZpQJI59H6V5PkV.u3RHbS.2KNszr1gyrG/fQD4WYvpYdem',NULL,0,1795334633619,NULL);
INSERT INTO credentials (id,account_id,workspace_id,mode,username,hash,cidr,imported,created_at,last_used_at) VALUES ('cred_01m814gywe9aqczhddtynbwjxj','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','live','app3','$2b$10$zKNdhGneq2i18ILQxBVUkeU8rx8qnFxz9mFF7Te209H27LrbdgSZ6',NULL,0,1795334634382,NULL);
INSERT INTO users (id,account_id,email,name,hash,created_at) VALUES ('user_01m814gzsvaj1asjprhe0wkz8h','acct_01m814gwc96fnzxc0mx8nf0rsj','ops@acme.test',NULL,NULL,1795334632292);
INSERT INTO sessions (id,account_id,user_id,lookup,hash,created_at,expires_at) VALUES ('ses_01m814gwv327kqrsz66g5mftaq','acct_01m814gwc96fnzxc0mx8nf0rsj',NULL,'g1Of1SgRaqGN',X'8A82B0B500E72951549AB4CE7A6C0F13DA38F2370FD07C2733D30AF7597EBE11',1795334632291,1795377832291);
INSERT INTO rate_windows (bucket,span,used,at) VALUES ('key_01m814gwtr387whss0p8pzzpr5',29922243,9,1795334635362);
INSERT INTO rate_windows (bucket,span,used,at) VALUES ('key_01m814gwvebrd51kg8tbj070tr',29922243,3,1795334635785);
INSERT INTO rate_windows (bucket,span,used,at) VALUES ('key_01m814gwvjezq6kz5djb3gqgkg',29922243,2,1795334635899);
INSERT INTO idempotency (n,workspace,test,key,fingerprint,token,locked_until,completed_at,status,body) VALUES (1,1,0,'once','598bfbe01937c92e5ff223c5f7512538be2078bb2f0450dd5cf4bd46a5121729','e00de73d-8e6c-42b0-a730-e2b34872775b',1795334695336,1795334635354,202,'{"id":"em_01m814gztt9kwjc6zcg7ay9h6m","object":"email","status":"queued","last_event":"queued","workspace_id":"ws_01m814gwc96fnzxc0mx8nf0rsk","mode":"live","source":"api","from":"a@acme.test","to":["u0@dest.test","v0@dest.test"],"cc":[],"bcc":[],"reply_to":[],"subject":"mail 0","tags":[{"name":"kind","value":"even"}],"attachments":[],"message_id":"<em_01m814gztt9kwjc6zcg7ay9h6m@mail.test>","scheduled_at":null,"created_at":"2026-11-22T08:03:55.354Z","updated_at":"2026-11-22T08:03:55.354Z","recipients":[{"address":"u0@dest.test","kind":"to","status":"queued","attempts":0,"last_response":null,"updated_at":"2026-11-22T08:03:55.354Z"},{"address":"v0@dest.test","kind":"to","status":"queued","attempts":0,"last_response":null,"updated_at":"2026-11-22T08:03:55.354Z"}],"counts":{"queued":2,"sent":0,"deferred":0,"delivered":0,"bounced":0,"canceled":0}}');
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (1,'em_01m814gztt9kwjc6zcg7ay9h6m',1795334635354,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20753040646573742E746573742C20763040646573742E746573740D0A5375626A6563743A206D61696C20300D0A4D6573736167652D49443A203C656D5F30316D383134677A7474396B776A63367A63673761793968366D406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (2,'em_01m814h0092wetk701fvd73xk8',1795334635529,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20753140646573742E746573740D0A5375626A6563743A206D61696C20310D0A4D6573736167652D49443A203C656D5F30316D38313468303039327765746B3730316676643733786B38406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (3,'em_01m814h01cfj0pd25s7nwkxm19',1795334635564,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20753240646573742E746573740D0A5375626A6563743A206D61696C20320D0A4D6573736167652D49443A203C656D5F30316D38313468303163666A307064323573376E776B786D3139406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (4,'em_01m814h047a7bay374e5kky2xq',1795334635655,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20753340646573742E746573742C20763340646573742E746573740D0A5375626A6563743A206D61696C20330D0A4D6573736167652D49443A203C656D5F30316D38313468303437613762617933373465356B6B79327871406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (5,'em_01m814h056c8c0sywn94c1755r',1795334635686,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20753440646573742E746573740D0A5375626A6563743A206D61696C20340D0A4D6573736167652D49443A203C656D5F30316D38313468303536633863307379776E3934633137353572406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (6,'em_01m814h05xfrk7agvad2cg0gxm',1795334635709,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20753540646573742E746573740D0A5375626A6563743A206D61696C20350D0A4D6573736167652D49443A203C656D5F30316D3831346830357866726B3761677661643263673067786D406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (7,'em_01m814h06820t2n7qenj0t6n8h',1795334635720,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20753640646573742E746573742C20763640646573742E746573740D0A5375626A6563743A206D61696C20360D0A4D6573736167652D49443A203C656D5F30316D38313468303638323074326E3771656E6A3074366E3868406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (8,'em_01m814h0853a6zrsjcfws0pvrr',1795334635781,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A2073686F7040646573742E746573740D0A5375626A6563743A2073686F7020300D0A4D6573736167652D49443A203C656D5F30316D383134683038353361367A72736A636677733070767272406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (9,'em_01m814h0962qpp0pngv4pgb5rg',1795334635814,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A2073686F7040646573742E746573740D0A5375626A6563743A2073686F7020310D0A4D6573736167652D49443A203C656D5F30316D383134683039363271707030706E677634706762357267406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (10,'em_01m814h0a7a8xyv8v9vv9a7rmp',1795334635847,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A2073686F7040646573742E746573740D0A5375626A6563743A2073686F7020320D0A4D6573736167652D49443A203C656D5F30316D3831346830613761387879763876397676396137726D70406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (11,'em_01m814h0bee199fqfwtv83bpch',1795334635886,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A207465737440646573742E746573740D0A5375626A6563743A207465737420300D0A4D6573736167652D49443A203C656D5F30316D3831346830626565313939667166777476383362706368406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (12,'em_01m814h0cc03bqx5n9gnqhpsq3',1795334635916,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A207465737440646573742E746573740D0A5375626A6563743A207465737420310D0A4D6573736167652D49443A203C656D5F30316D383134683063633033627178356E39676E716870737133406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (13,'em_01m814h0dqe1j30jc6dba6898r',1795334635959,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A206C6174657240646573742E746573742C20676F6E653140646573742E746573740D0A5375626A6563743A206C617465720D0A4D6573736167652D49443A203C656D5F30316D3831346830647165316A33306A63366462613638393872406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3535202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (14,'em_01m814h0dqe1j30jc6dba6898s',1795507432292,'{"html":null,"text":"hello","headers":{}}',X'5375626A6563743A20526563656970740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (15,'em_01m814h0dqe1j30jc6dba6898t',1791878632292,'{"html":null,"text":"hello","headers":{}}',X'5375626A6563743A20526563656970740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (16,'em_01m814h0vmacm8p7chahezm6b5',1795334636404,'{"html":null,"text":"hello","headers":{}}',X'46726F6D3A20614061636D652E746573740D0A546F3A20784068656C642E746573740D0A5375626A6563743A2068656C640D0A4D6573736167652D49443A203C656D5F30316D3831346830766D61636D38703763686168657A6D366235406D61696C2E746573743E0D0A446174653A2053756E2C203232204E6F7620323032362030383A30333A3536202B303030300D0A4D494D452D56657273696F6E3A20312E300D0A436F6E74656E742D547970653A20746578742F706C61696E3B20636861727365743D7574662D380D0A436F6E74656E742D5472616E736665722D456E636F64696E673A20376269740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO bodies (n,email_id,created_at,content,raw,beside) VALUES (17,'em_01m814h0vvd8f0kt5rjhcp4ekc',1795334636411,NULL,X'5375626A6563743A20526563656970740D0A0D0A68656C6C6F0D0A',0);
INSERT INTO skew (ahead,behind) VALUES (4294967296,268435456);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814gztt9kwjc6zcg7ay9h6m',1,0,'sent',2,0,0,2,0,0,0,0,1795334635354,1795334636301,NULL,2,1,264,'api',0,NULL,NULL,'<em_01m814gztt9kwjc6zcg7ay9h6m@mail.test>','a@acme.test','mail 0','{"to":["u0@dest.test","v0@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[{"name":"kind","value":"even"}],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0092wetk701fvd73xk8',1,0,'sent',1,0,0,1,0,0,0,0,1795334635529,1795334636309,NULL,2,2,250,'api',0,NULL,NULL,'<em_01m814h0092wetk701fvd73xk8@mail.test>','a@acme.test','mail 1','{"to":["u1@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[{"name":"kind","value":"odd"}],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h01cfj0pd25s7nwkxm19',1,0,'delivered',1,0,0,0,0,1,0,0,1795334635564,1795334636351,NULL,2,3,250,'api',0,NULL,NULL,'<em_01m814h01cfj0pd25s7nwkxm19@mail.test>','a@acme.test','mail 2','{"to":["u2@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[{"name":"kind","value":"even"}],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h047a7bay374e5kky2xq',1,0,'bounced',2,0,0,0,0,0,2,0,1795334635655,1795334636368,NULL,2,4,264,'api',0,NULL,NULL,'<em_01m814h047a7bay374e5kky2xq@mail.test>','a@acme.test','mail 3','{"to":["u3@dest.test","v3@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[{"name":"kind","value":"odd"}],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h056c8c0sywn94c1755r',1,0,'deferred',1,0,0,0,1,0,0,0,1795334635686,1795334636381,NULL,2,5,250,'api',0,NULL,NULL,'<em_01m814h056c8c0sywn94c1755r@mail.test>','a@acme.test','mail 4','{"to":["u4@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[{"name":"kind","value":"even"}],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h05xfrk7agvad2cg0gxm',1,0,'queued',1,0,1,0,0,0,0,0,1795334635709,1795334635709,NULL,2,6,250,'api',0,NULL,NULL,'<em_01m814h05xfrk7agvad2cg0gxm@mail.test>','a@acme.test','mail 5','{"to":["u5@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[{"name":"kind","value":"odd"}],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h06820t2n7qenj0t6n8h',1,0,'queued',2,0,2,0,0,0,0,0,1795334635720,1795334635720,NULL,2,7,264,'api',0,NULL,NULL,'<em_01m814h06820t2n7qenj0t6n8h@mail.test>','a@acme.test','mail 6','{"to":["u6@dest.test","v6@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[{"name":"kind","value":"even"}],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0853a6zrsjcfws0pvrr',2,0,'sent',1,0,0,1,0,0,0,0,1795334635781,1795334636296,NULL,2,8,252,'api',0,NULL,NULL,'<em_01m814h0853a6zrsjcfws0pvrr@mail.test>','a@acme.test','shop 0','{"to":["shop@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0962qpp0pngv4pgb5rg',2,0,'sent',1,0,0,1,0,0,0,0,1795334635814,1795334636304,NULL,2,9,252,'api',0,NULL,NULL,'<em_01m814h0962qpp0pngv4pgb5rg@mail.test>','a@acme.test','shop 1','{"to":["shop@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0a7a8xyv8v9vv9a7rmp',2,0,'sent',1,0,0,1,0,0,0,0,1795334635847,1795334636337,NULL,2,10,252,'api',0,NULL,NULL,'<em_01m814h0a7a8xyv8v9vv9a7rmp@mail.test>','a@acme.test','shop 2','{"to":["shop@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0bee199fqfwtv83bpch',1,1,'delivered',1,0,0,0,0,1,0,0,1795334635886,1795334636246,NULL,1,11,252,'api',0,NULL,NULL,'<em_01m814h0bee199fqfwtv83bpch@mail.test>','a@acme.test','test 0','{"to":["test@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0cc03bqx5n9gnqhpsq3',1,1,'delivered',1,0,0,0,0,1,0,0,1795334635916,1795334636271,NULL,1,12,252,'api',0,NULL,NULL,'<em_01m814h0cc03bqx5n9gnqhpsq3@mail.test>','a@acme.test','test 1','{"to":["test@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0dqe1j30jc6dba6898r',1,0,'bounced',2,1,0,0,0,0,1,0,1795334635959,1795334635959,1796112232292,2,13,269,'api',0,NULL,NULL,'<em_01m814h0dqe1j30jc6dba6898r@mail.test>','a@acme.test','later','{"to":["later@dest.test","gone1@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0dqe1j30jc6dba6898s',1,0,'queued',1,0,1,0,0,0,0,0,1795507432292,1795507432292,NULL,1,14,27,'api',0,NULL,NULL,'<em_01m814h0dqe1j30jc6dba6898s@mail.acme.test>','Acme <no-reply@acme.test>','Receipt','{"to":["future@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0dqe1j30jc6dba6898t',1,0,'sent',1,0,0,1,0,0,0,0,1791878632292,1795334636102,NULL,1,15,27,'api',0,NULL,NULL,'<em_01m814h0dqe1j30jc6dba6898t@mail.acme.test>','Acme <no-reply@acme.test>','Receipt','{"to":["past@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0vmacm8p7chahezm6b5',1,0,'queued',1,0,1,0,0,0,0,0,1795334636404,1795334636404,NULL,2,16,247,'api',0,NULL,NULL,'<em_01m814h0vmacm8p7chahezm6b5@mail.test>','a@acme.test','held','{"to":["x@held.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',NULL,0);
INSERT INTO emails (id,workspace,test,status,total,scheduled,queued,sent,deferred,delivered,bounced,canceled,created_at,updated_at,scheduled_at,pool,body,size,source,utf8,envid,ret,message_id,sender,subject,lists,mail_from,require_tls) VALUES ('em_01m814h0vvd8f0kt5rjhcp4ekc',1,0,'bounced',1,0,0,0,0,0,1,0,1795334636411,1795334636429,NULL,1,17,27,'smtp',0,NULL,NULL,'<m1@client.test>','Acme <no-reply@acme.test>','Receipt','{"to":["no@dest.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}','sender@acme.test',0);
INSERT INTO tags (workspace,name,value,email_id) VALUES (1,'kind','even','em_01m814gztt9kwjc6zcg7ay9h6m');
INSERT INTO tags (workspace,name,value,email_id) VALUES (1,'kind','even','em_01m814h01cfj0pd25s7nwkxm19');
INSERT INTO tags (workspace,name,value,email_id) VALUES (1,'kind','even','em_01m814h056c8c0sywn94c1755r');
INSERT INTO tags (workspace,name,value,email_id) VALUES (1,'kind','even','em_01m814h06820t2n7qenj0t6n8h');
INSERT INTO tags (workspace,name,value,email_id) VALUES (1,'kind','odd','em_01m814h0092wetk701fvd73xk8');
INSERT INTO tags (workspace,name,value,email_id) VALUES (1,'kind','odd','em_01m814h047a7bay374e5kky2xq');
INSERT INTO tags (workspace,name,value,email_id) VALUES (1,'kind','odd','em_01m814h05xfrk7agvad2cg0gxm');
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j3zb9ezt5dh','em_01m814gztt9kwjc6zcg7ay9h6m',1,2,'to','sent',1,1795334636280,1795334635354,NULL,NULL,NULL,1,NULL,'up_1',1795334636273,NULL,'u0@dest.test','u0@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j3zb9ezt5dj','em_01m814gztt9kwjc6zcg7ay9h6m',1,2,'to','sent',1,1795334636301,1795334635354,NULL,NULL,NULL,1,NULL,'up_1',1795334636297,NULL,'v0@dest.test','v0@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j4015xtt4qf','em_01m814h0092wetk701fvd73xk8',1,2,'to','sent',1,1795334636309,1795334635529,NULL,NULL,NULL,1,NULL,'up_1',1795334636306,NULL,'u1@dest.test','u1@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j405hr4pd3h','em_01m814h01cfj0pd25s7nwkxm19',1,2,'to','delivered',1,1795334636351,1795334635564,NULL,NULL,NULL,1,NULL,'up_1',1795334636339,NULL,'u2@dest.test','u2@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j40gwvhrkhn','em_01m814h047a7bay374e5kky2xq',1,2,'to','bounced',1,1795334636358,1795334635655,NULL,NULL,NULL,1,NULL,'up_1',1795334636353,NULL,'u3@dest.test','u3@dest.test',NULL,NULL,'550 5.1.1 no such user',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j40gwvhrkhp','em_01m814h047a7bay374e5kky2xq',1,2,'to','bounced',1,1795334636368,1795334635655,NULL,NULL,NULL,1,NULL,'up_1',1795334636361,NULL,'v3@dest.test','v3@dest.test',NULL,NULL,'550 5.1.1 no such user',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j40msxa46dt','em_01m814h056c8c0sywn94c1755r',1,2,'to','deferred',1,1795334636381,1795334635686,1795341832292,NULL,NULL,1,NULL,'up_1',1795334636372,NULL,'u4@dest.test','u4@dest.test',NULL,NULL,'451 4.7.1 later',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j40qn9w70mh','em_01m814h05xfrk7agvad2cg0gxm',1,2,'to','queued',0,1795334635709,1795334635709,NULL,6673259362160,1795338232292,1,NULL,NULL,NULL,NULL,'u5@dest.test','u5@dest.test',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j40s1c8e8rz','em_01m814h06820t2n7qenj0t6n8h',1,2,'to','queued',0,1795334635720,1795334635720,NULL,6673259362160,1795338232292,1,1,'up_1',1795334636385,NULL,'u6@dest.test','u6@dest.test',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j40s1c8e8s0','em_01m814h06820t2n7qenj0t6n8h',1,2,'to','queued',0,1795334635720,1795334635720,NULL,6673259362160,1795338232292,1,1,'up_1',1795334636389,NULL,'v6@dest.test','v6@dest.test',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j410nqgyqva','em_01m814h0853a6zrsjcfws0pvrr',2,2,'to','sent',1,1795334636296,1795334635781,NULL,NULL,NULL,1,NULL,'up_1',1795334636294,NULL,'shop@dest.test','shop@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j414s6hcfb7','em_01m814h0962qpp0pngv4pgb5rg',2,2,'to','sent',1,1795334636304,1795334635814,NULL,NULL,NULL,1,NULL,'up_1',1795334636303,NULL,'shop@dest.test','shop@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j418xshj5j7','em_01m814h0a7a8xyv8v9vv9a7rmp',2,2,'to','sent',1,1795334636337,1795334635847,NULL,NULL,NULL,1,NULL,'up_1',1795334636325,NULL,'shop@dest.test','shop@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j41dsshx9et','em_01m814h0bee199fqfwtv83bpch',1,1,'to','delivered',1,1795334636246,1795334635886,NULL,NULL,NULL,1,NULL,'up_1',1795334636127,NULL,'test@dest.test','test@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j41hgkwch3m','em_01m814h0cc03bqx5n9gnqhpsq3',1,1,'to','delivered',1,1795334636271,1795334635916,NULL,NULL,NULL,1,NULL,'up_1',1795334636252,NULL,'test@dest.test','test@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j41px2013dm','em_01m814h0dqe1j30jc6dba6898r',1,2,'to','scheduled',0,1795334635959,1795334635959,1796112232292,NULL,NULL,0,NULL,NULL,NULL,NULL,'later@dest.test','later@dest.test',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j41px2013dn','em_01m814h0dqe1j30jc6dba6898r',1,2,'to','bounced',0,1795334635959,1795334635959,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,'gone1@dest.test','gone1@dest.test',NULL,NULL,NULL,'suppressed',NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j41sxy7vh4t','em_01m814h0dqe1j30jc6dba6898s',1,1,'to','queued',0,1795507432292,1795507432292,1795507432292,NULL,NULL,0,NULL,NULL,NULL,NULL,'future@dest.test','future@dest.test',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j41xh03wgch','em_01m814h0dqe1j30jc6dba6898t',1,1,'to','sent',1,1795334636102,1791878632292,NULL,NULL,NULL,1,NULL,'up_1',1795334636069,NULL,'past@dest.test','past@dest.test',NULL,NULL,'250 queued as 4XYZ',NULL,NULL,NULL);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j43ehqqrh67','em_01m814h0vmacm8p7chahezm6b5',1,2,'to','queued',0,1795334636404,1795334636404,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,'x@held.test','x@held.test',NULL,NULL,NULL,NULL,'hold_01m814h0vc5jz3vrs4n47fmw1n',1795334636404);
INSERT INTO recipients (id,email_id,workspace,pool,kind,status,attempts,updated_at,queued_at,due_at,boot,lease_until,lease_gen,attempting,attempt_upstream,attempt_at,deadline,address,address_lc,notify,orcpt,last_response,reason,held,held_due) VALUES ('06h04j43fd929r37','em_01m814h0vvd8f0kt5rjhcp4ekc',1,1,'to','bounced',1,1795334636429,1795334636411,NULL,NULL,NULL,1,NULL,'up_1',1795334636420,NULL,'no@dest.test','no@dest.test','FAILURE',NULL,'550 5.1.1 no',NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814gztt9kwjc6zcg7ay9h6m','evt_01m814gzttd5y81v4t4x6jsgcd','email.queued','06h04j3zb9ezt5dh','api',1795334635354,1795334635354,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814gztt9kwjc6zcg7ay9h6m','evt_01m814gzttd5y81v4t4x6jsgce','email.queued','06h04j3zb9ezt5dj','api',1795334635354,1795334635354,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814gztt9kwjc6zcg7ay9h6m','evt_01m869aav4egabgs2ycrrg5647','email.sent','06h04j3zb9ezt5dh','smtp',1795168801000,1795334636280,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814gztt9kwjc6zcg7ay9h6m','evt_01m869aav4egabgs2ycrrg5649','email.sent','06h04j3zb9ezt5dj','smtp',1795168801000,1795334636301,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0092wetk701fvd73xk8','evt_01m814h009da3vseaknz5sjvce','email.queued','06h04j4015xtt4qf','api',1795334635529,1795334635529,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0092wetk701fvd73xk8','evt_01m869aav4egabgs2ycrrg564b','email.sent','06h04j4015xtt4qf','smtp',1795168801000,1795334636309,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h01cfj0pd25s7nwkxm19','evt_01m814h01c43y0khqrkvvr6p4r','email.queued','06h04j405hr4pd3h','api',1795334635564,1795334635564,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h01cfj0pd25s7nwkxm19','evt_01m869aav4egabgs2ycrrg564d','email.sent','06h04j405hr4pd3h','smtp',1795168801000,1795334636347,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h01cfj0pd25s7nwkxm19','evt_01m869aav4egabgs2ycrrg564e','email.delivered','06h04j405hr4pd3h','dsn',1795168801000,1795334636351,NULL,1,NULL,'d06h04j405hr4pd3h',NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h047a7bay374e5kky2xq','evt_01m814h0479dszy1cynfwmga5m','email.queued','06h04j40gwvhrkhn','api',1795334635655,1795334635655,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h047a7bay374e5kky2xq','evt_01m814h0479dszy1cynfwmga5n','email.queued','06h04j40gwvhrkhp','api',1795334635655,1795334635655,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h047a7bay374e5kky2xq','evt_01m869aav4egabgs2ycrrg564f','email.bounced','06h04j40gwvhrkhn','smtp',1795168801000,1795334636358,1,1,NULL,NULL,'{"reply":{"code":550,"enhanced":"5.1.1","text":"no such user"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h047a7bay374e5kky2xq','evt_01m869aav4egabgs2ycrrg564g','email.bounced','06h04j40gwvhrkhp','smtp',1795168801000,1795334636368,1,1,NULL,NULL,'{"reply":{"code":550,"enhanced":"5.1.1","text":"no such user"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h056c8c0sywn94c1755r','evt_01m814h056b8w4nhp59spjhrmv','email.queued','06h04j40msxa46dt','api',1795334635686,1795334635686,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h056c8c0sywn94c1755r','evt_01m869aav4egabgs2ycrrg564h','email.deferred','06h04j40msxa46dt','smtp',1795168801000,1795334636381,1,1,NULL,NULL,'{"reply":{"code":451,"enhanced":"4.7.1","text":"later"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h05xfrk7agvad2cg0gxm','evt_01m814h05xbvn6t33zxw76fjhb','email.queued','06h04j40qn9w70mh','api',1795334635709,1795334635709,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h06820t2n7qenj0t6n8h','evt_01m814h0684sxe1p3g0m14wd2h','email.queued','06h04j40s1c8e8rz','api',1795334635720,1795334635720,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h06820t2n7qenj0t6n8h','evt_01m814h0684sxe1p3g0m14wd2j','email.queued','06h04j40s1c8e8s0','api',1795334635720,1795334635720,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0853a6zrsjcfws0pvrr','evt_01m814h085c5315fymcn2ap0k9','email.queued','06h04j410nqgyqva','api',1795334635781,1795334635781,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0853a6zrsjcfws0pvrr','evt_01m869aav4egabgs2ycrrg5648','email.sent','06h04j410nqgyqva','smtp',1795168801000,1795334636296,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0962qpp0pngv4pgb5rg','evt_01m814h0961r9s4357a9wmb150','email.queued','06h04j414s6hcfb7','api',1795334635814,1795334635814,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0962qpp0pngv4pgb5rg','evt_01m869aav4egabgs2ycrrg564a','email.sent','06h04j414s6hcfb7','smtp',1795168801000,1795334636304,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0a7a8xyv8v9vv9a7rmp','evt_01m814h0a7f7y45dvjw7n1k7nk','email.queued','06h04j418xshj5j7','api',1795334635847,1795334635847,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0a7a8xyv8v9vv9a7rmp','evt_01m869aav4egabgs2ycrrg564c','email.sent','06h04j418xshj5j7','smtp',1795168801000,1795334636337,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0bee199fqfwtv83bpch','evt_01m814h0bebyvk1bnr0ksj1515','email.queued','06h04j41dsshx9et','api',1795334635886,1795334635886,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0bee199fqfwtv83bpch','evt_01m869aav4egabgs2ycrrg5643','email.sent','06h04j41dsshx9et','smtp',1795168801000,1795334636239,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0bee199fqfwtv83bpch','evt_01m869aav4egabgs2ycrrg5644','email.delivered','06h04j41dsshx9et','dsn',1795168801000,1795334636246,NULL,1,NULL,'d06h04j41dsshx9et',NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0cc03bqx5n9gnqhpsq3','evt_01m814h0ccabhtzpcx9kkz1a0e','email.queued','06h04j41hgkwch3m','api',1795334635916,1795334635916,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0cc03bqx5n9gnqhpsq3','evt_01m869aav4egabgs2ycrrg5645','email.sent','06h04j41hgkwch3m','smtp',1795168801000,1795334636265,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0cc03bqx5n9gnqhpsq3','evt_01m869aav4egabgs2ycrrg5646','email.delivered','06h04j41hgkwch3m','dsn',1795168801000,1795334636271,NULL,1,NULL,'d06h04j41hgkwch3m',NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0dqe1j30jc6dba6898r','evt_01m814h0dqffr5k77qhryegy09','email.scheduled','06h04j41px2013dm','api',1795334635959,1795334635959,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0dqe1j30jc6dba6898r','evt_01m814h0dqffr5k77qhryegy0a','email.bounced','06h04j41px2013dn','system',1795334635959,1795334635959,NULL,1,'suppressed',NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0dqe1j30jc6dba6898s','evt_01m869aav4egabgs2ycrrg5640','email.queued','06h04j41sxy7vh4t','api',1795507432292,1795507432292,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0dqe1j30jc6dba6898t','evt_01m869aav4egabgs2ycrrg5641','email.queued','06h04j41xh03wgch','api',1791878632292,1791878632292,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0dqe1j30jc6dba6898t','evt_01m869aav4egabgs2ycrrg5642','email.sent','06h04j41xh03wgch','smtp',1795168801000,1795334636102,1,1,NULL,NULL,'{"reply":{"code":250,"enhanced":null,"text":"queued as 4XYZ"},"mta":null,"detail":null}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0vmacm8p7chahezm6b5','evt_01m869aav4egabgs2ycrrg564j','email.queued','06h04j43ehqqrh67','api',1795334636404,1795334636404,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0vmacm8p7chahezm6b5','evt_01m869aav4egabgs2ycrrg564k','email.queued','06h04j43ehqqrh67','operator',1795334636404,1795334636404,NULL,1,'a reason',NULL,'{"reply":null,"mta":null,"detail":{"action":"held","hold":"hold_01m814h0vc5jz3vrs4n47fmw1n"}}');
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0vvd8f0kt5rjhcp4ekc','evt_01m869aav4egabgs2ycrrg564m','email.queued','06h04j43fd929r37','smtp',1795334636411,1795334636411,NULL,1,NULL,NULL,NULL);
INSERT INTO events (email_id,id,type,recipient_id,source,occurred_at,created_at,attempt,applied,reason,dedupe,more) VALUES ('em_01m814h0vvd8f0kt5rjhcp4ekc','evt_01m869aav4egabgs2ycrrg564n','email.bounced','06h04j43fd929r37','smtp',1795168801000,1795334636429,1,1,NULL,NULL,'{"reply":{"code":550,"enhanced":"5.1.1","text":"no"},"mta":null,"detail":null}');
INSERT INTO holds (id,account_id,workspace_id,pool_id,domain,email_id,reason,created_at) VALUES ('hold_01m814h0vc5jz3vrs4n47fmw1n','acct_01m814gwc96fnzxc0mx8nf0rsj',NULL,NULL,'held.test',NULL,'a reason',1795334632292);
INSERT INTO suppressions (id,account_id,workspace_id,email,origin,source_id,reason,expires_at,created_at) VALUES ('sup_01m814gzc23c8y0zk85dcq6f45','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','gone0@dest.test','manual',NULL,NULL,NULL,1795334634882);
INSERT INTO suppressions (id,account_id,workspace_id,email,origin,source_id,reason,expires_at,created_at) VALUES ('sup_01m814gzm61z454x27mz0meb51','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','gone1@dest.test','manual',NULL,NULL,NULL,1795334635142);
INSERT INTO suppressions (id,account_id,workspace_id,email,origin,source_id,reason,expires_at,created_at) VALUES ('sup_01m814gzrtf8ygq7hv0tv3rfwf','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','gone3@dest.test','manual',NULL,NULL,NULL,1795334635290);
INSERT INTO suppressions (id,account_id,workspace_id,email,origin,source_id,reason,expires_at,created_at) VALUES ('sup_01m814gzs6dfdnatx6n4sp450e','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk','gone4@dest.test','manual',NULL,NULL,NULL,1795334635302);
INSERT INTO suppressions (id,account_id,workspace_id,email,origin,source_id,reason,expires_at,created_at) VALUES ('sup_01m814gzsk1gvkp7sxqw3w0snt','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwc96fnzxc0mx8nf0rsk/test','x@test.test','manual',NULL,NULL,NULL,1795334632292);
INSERT INTO suppressions (id,account_id,workspace_id,email,origin,source_id,reason,expires_at,created_at) VALUES ('sup_01m814gzsm883jswmn8mh2njbw','acct_01m814gwc96fnzxc0mx8nf0rsj','acct_01m814gwc96fnzxc0mx8nf0rsj','all@test.test','manual',NULL,NULL,1804334632292,1795334632292);
INSERT INTO domains (id,account_id,workspace_id,name,keys,verified_at,checked_at,created_at,updated_at) VALUES ('dom_01m814gzsm883jswmn8mh2njbx','acct_01m814gwc96fnzxc0mx8nf0rsj',NULL,'d0.test','[]',NULL,NULL,1795334632292,1795334632292);
INSERT INTO domains (id,account_id,workspace_id,name,keys,verified_at,checked_at,created_at,updated_at) VALUES ('dom_01m814gzsndazwja4gz3nftnkg','acct_01m814gwc96fnzxc0mx8nf0rsj','ws_01m814gwv5bmdtj9w46htdekjb','d1.test','[]',NULL,NULL,1795334632293,1795334632293);
INSERT INTO domains (id,account_id,workspace_id,name,keys,verified_at,checked_at,created_at,updated_at) VALUES ('dom_01m814gzsp3w90e5a2e713m9ar','acct_01m814gwc96fnzxc0mx8nf0rsj',NULL,'d2.test','[]',NULL,NULL,1795334632294,1795334632294);
INSERT INTO pepper (mark) VALUES ('e2fb1357fa6764a25112bf986e42ae20');
INSERT INTO owed_dsns (email_id,action,recipient_id,event_id,at) VALUES ('em_01m814h0vvd8f0kt5rjhcp4ekc','failed','06h04j43fd929r37','evt_01m869aav4egabgs2ycrrg564n',1795168801000);
INSERT INTO made_by (version) VALUES ('');
INSERT INTO fence (boot) VALUES (6673259362160);
PRAGMA user_version = 8;
COMMIT;
