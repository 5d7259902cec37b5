create table if not exists orders (id bigint primary key, items int not null, fencing_token bigint);
create table if not exists settlement (token bigint primary key, instance text not null, began timestamptz not null, ended timestamptz);
