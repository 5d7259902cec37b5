package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("quick")
class DeploymentTest {

    private static Deployment parse(String text) {
        return Deployment.parse(StoreUri.parse(text));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis://h                                       | redis://h:6379",
                "redis-replicated://a,b:7000                     | redis-replicated://a:6379,b:7000",
                "redis-replicated://u:p%40w@a,b/3                | redis-replicated://a:6379,b:6379/3",
                "rediss-replicated://a,b                         | rediss-replicated://a:6379,b:6379",
                "redis-sentinel://a,b:7,c/main                   | redis-sentinel://a:26379,b:7,c:26379/main",
                "redis-sentinel://a/main/2                       | redis-sentinel://a:26379/main/2",
                "redis-sentinel://a,b/2#main                     | redis-sentinel://a:26379,b:26379/main/2",
                "redis-sentinel://a#main                         | redis-sentinel://a:26379/main",
                "redis-sentinel://:p@a/m?sentinelPassword=q&tls=true | rediss-sentinel://a:26379/m",
                "redis-cluster://a,[::1],c:7                     | redis-cluster://a:6379,[::1]:6379,c:7",
                "rediss-cluster://u:p@a                          | rediss-cluster://a:6379",
                "redis-cluster://a/0?waitReplicas=1              | redis-cluster://a:6379",
                "rediss-cluster://a?ca=/etc/me@home.pem          | rediss-cluster://a:6379",
                "redis-sentinel://a/m?sentinelUser=me@home&sentinelPassword=p | redis-sentinel://a:26379/m",
            })
    void readsAndDescribesWithoutSecrets(String text, String description) {
        assertThat(parse(text)).hasToString(description);
    }

    @Test
    void dataServersAndSentinelsHaveCredentialsOfTheirOwn() {
        Deployment where =
                parse("redis-sentinel://u:data@a,b/m?sentinelUser=w&sentinelPassword=wa%26tch&sentinelTls=true");

        var sentinel = LettuceUris.of(where.servers().get(1), java.time.Duration.ofSeconds(1), null);
        var data = LettuceUris.of(where.data().at("h", 7), java.time.Duration.ofSeconds(1), null);

        assertThat(sentinel.isSsl()).isTrue();
        assertThat(data.isSsl()).isFalse();
        assertThat(new String(sentinel.getCredentialsProvider()
                        .resolveCredentials()
                        .block()
                        .getPassword()))
                .isEqualTo("wa&tch");
        assertThat(new String(data.getCredentialsProvider()
                        .resolveCredentials()
                        .block()
                        .getPassword()))
                .isEqualTo("data");
    }

    @Test
    void acknowledgementsHaveABound() {
        assertThat(parse("redis-cluster://a?waitReplicas=2&waitTimeout=1s").acknowledgement())
                .isEqualTo(new Acknowledgement(2, 1_000));
        assertThat(parse("redis://a?waitReplicas=1").acknowledgement()).isEqualTo(new Acknowledgement(1, 100));
        assertThat(parse("redis://a?waitReplicas=99&waitTimeout=1ms").acknowledgement())
                .isEqualTo(new Acknowledgement(99, 1));
        assertThat(parse("redis://a?waitReplicas=10&waitTimeout=60s").acknowledgement())
                .isEqualTo(new Acknowledgement(10, 60_000));
        assertThat(parse("redis://a").acknowledgement().isWanted()).isFalse();
        assertThat(parse("redis://a?waitReplicas=1").acknowledgement().isWanted())
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis-sentinel://a,b              | the name of the master is missing",
                "redis-sentinel://a/               | the name of the master is missing",
                "redis-sentinel://a//1             | the name of the master is missing",
                "redis-sentinel://a,/m             | is no host",
                "redis-sentinel://a/m?sentinelUser=x | sentinelUser needs sentinelPassword",
                "redis-sentinel://a/m?sentinelTls=yes | sentinelTls=yes must be true or false",
                "redis-sentinel://a,a/m            | a:26379 is named twice",
                "redis-sentinel://a/m/x            | database \"x\"",
                "redis-cluster://a/1               | a Cluster has one database",
                "redis-cluster://a?toldAtOnce=true | toldAtOnce is for deployments with one master",
                "redis-cluster://a#m               | fragment",
                "redis-cluster://a:x               | port \"x\"",
                "redis-cluster:a                   | the scheme must be followed by //",
                "redis-cluster://a?sentinelUser=x  | unknown option \"sentinelUser\"",
                "redis-replicated://a,,b           | is no host",
                "redis-replicated://a,a:6379       | named twice",
                "redis://a?waitReplicas=0          | waitReplicas=0 must be a number from 1 to 99",
                "redis://a?waitTimeout=1s          | waitTimeout needs waitReplicas",
                "redis://a?waitReplicas=1&waitTimeout=0s | waitTimeout=0s must be a span from 1ms to 60s",
                "redis://a?waitReplicas=1&waitTimeout=60001ms | must be a span from 1ms to 60s",
                "redis://a?waitReplicas=1&waitTimeout=1h | waitTimeout=1h must be a span",
                "redis://a?waitReplicas=100        | waitReplicas=100 must be a number from 1 to 99",
                "redis-sentinel://a/m?sentinelPassword=x&sentinelPassword=y | option \"sentinelPassword\" is given twice",
                "redis-sentinel://a/%zz            | the master's name has a %",
                "redis-sentinel://u:p#w@a/m        | write ? and # in a password as %3F and %23",
                "redis-cluster://u:p?w@a           | write ? and # in a password as %3F and %23",
                "redis-ring://a                    | the scheme must be one of",
            })
    void refusesWhatItDoesNotUnderstand(String text, String rule) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(rule)
                .hasMessageContaining(text.substring(0, text.indexOf(':')).strip());
    }

    @ParameterizedTest
    @CsvSource({
        "redis-cluster://u:hunter2@a:x",
        "redis-sentinel://u:hunter2@a",
        "redis-sentinel://u:hunter2#x@a/m",
        "redis-sentinel://u:x#hunter2@a/m",
        "redis-sentinel://u:6379#hunter2@a/m",
        "redis-sentinel://u:6379/3#hunter2@a",
        "redis-sentinel://u#x:hunter2@a/m",
        "redis-sentinel://u:hunter2?x@a/m",
        "redis-sentinel://u:x?sentinelTls=hunter2@a/m",
        "redis-cluster://u:hunter2?tls=true@a",
        "redis-cluster://u:x?hunter2=y@a",
        "redis-sentinel://a/m?sentinelPassword=hunter2&nope=1",
        "'redis-replicated://u:hunter2@a,a'"
    })
    void neverRepeatsASecret(String text) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("hunter2");
    }

    @Test
    void theFirstNodeNamesTheSettingsOfAll() {
        RedisUri first = LettuceUris.read(RedisURI.create("rediss://:hunter2@a:1"), KeyLayout.standard());
        RedisUri second = LettuceUris.read(RedisURI.create("redis://b:2"), KeyLayout.standard());
        RedisUri withDatabase = LettuceUris.read(RedisURI.create("redis://c:3/4"), KeyLayout.standard());

        assertThat(Deployment.ofCluster(List.of(first, second)).servers())
                .extracting(RedisUri::toString)
                .containsExactly("rediss://a:1", "rediss://b:2");
        assertThatThrownBy(() -> Deployment.ofCluster(List.of(first, withDatabase)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("redis://c:3/4");
    }

    @Test
    void everySlotHasATagOfItsOwn() {
        for (int slot = 0; slot < SlotTable.SLOTS; slot++) {
            assertThat(SlotHash.getSlot("lock:wake:{" + SlotTags.of(slot) + "}x"))
                    .isEqualTo(slot);
        }
    }

    @Test
    void theLaterViewOfTheSlotsCounts() {
        List<Object> first =
                List.of(Arrays.asList(0L, 16_383L, Arrays.asList("a", 1L, "id"), Arrays.asList("b", 2L, "id2")));
        List<Object> second = List.of(
                Arrays.asList(0L, 9L, Arrays.asList(null, 2L, "id2")),
                Arrays.asList(20L, 29L, Arrays.asList("", 3L, "id3")));
        SlotTable before = SlotTable.parse("asked", first, "cluster_current_epoch:4\r\n");
        SlotTable after = SlotTable.parse("asked", second, "cluster_current_epoch:5\r\n");

        assertThat(after.isAsNewAs(before)).isTrue();
        assertThat(before.isAsNewAs(after)).isFalse();
        assertThat(before.masterOf(16_383)).isEqualTo("a:1");
        assertThat(before.everybody()).containsExactly("a:1", "b:2");
        assertThat(after.masterOf(5)).isEqualTo("asked:2");
        assertThat(after.masterOf(25)).isEqualTo("asked:3");
        assertThat(after.masterOf(15)).isNull();
        assertThat(after.served()).isEqualTo(20);
        assertThat(after.with(15, "c:9").masterOf(15)).isEqualTo("c:9");
    }

    private static String login(RedisUri server) {
        io.lettuce.core.RedisCredentials login = LettuceUris.of(server, java.time.Duration.ofSeconds(1), null)
                .getCredentialsProvider()
                .resolveCredentials()
                .block();
        return login == null || !login.hasPassword()
                ? "none"
                : login.getUsername() + ":" + new String(login.getPassword());
    }

    @Test
    void sentinelsAreReachedAsTheirOwnParametersSay() {
        Deployment plain = parse("redis-sentinel://u:data@a/m?ca=%2Fx.pem&tls=true");
        assertThat(plain.servers().get(0).tls())
                .as("as the data servers, unless told")
                .isTrue();
        assertThat(plain.servers().get(0).certificates()).isEqualTo("/x.pem");
        assertThat(login(plain.servers().get(0))).isEqualTo("none");
        assertThat(login(plain.data())).isEqualTo("u:data");
        Deployment apart = parse("rediss-sentinel://a/m/3?ca=%2Fx.pem&sentinelTls=false&sentinelPassword=w");
        assertThat(apart.servers().get(0).tls()).isFalse();
        assertThat(apart.servers().get(0).certificates()).isNull();
        assertThat(apart.servers().get(0).database()).isZero();
        assertThat(login(apart.servers().get(0))).isEqualTo("null:w");
        assertThat(apart.data().tls()).isTrue();
        assertThat(apart.data().database()).isEqualTo(3);
        assertThat(parse("redis-sentinel://a/my%20master").masterName()).isEqualTo("my master");
        assertThat(parse("redis-sentinel://a/a+b").masterName()).isEqualTo("a+b");
        assertThat(parse("redis-cluster://a").masterName()).isEmpty();
        assertThat(login(parse("redis-sentinel://u:data@a/m?sentinelUser=w&sentinelPassword=x")
                        .servers()
                        .get(0)))
                .isEqualTo("w:x");
        assertThat(login(parse("redis-sentinel://a/m?sentinelUser=&sentinelPassword=x")
                        .servers()
                        .get(0)))
                .as("no user means the default user")
                .isEqualTo("null:x");
    }

    @Test
    void aProviderIsAskedForTheLoginsOfDataServersAlone() {
        io.leasehold.CredentialsProvider provider = () -> {
            throw new IllegalStateException("not asked here");
        };
        for (String text : List.of("redis://a", "redis-replicated://a,b", "redis-cluster://a,b")) {
            Deployment where = parse(text).credentials(provider);
            assertThat(where.servers()).as(text).allMatch(RedisUri::asksForLogin);
            assertThat(where.data().asksForLogin()).isTrue();
            assertThat(where.credentials()).isSameAs(provider);
            assertThat(where.keys(KeyLayout.of("app:{*}")).credentials()).isSameAs(provider);
            assertThat(where.data().at("h", 1).asksForLogin()).isTrue();
            assertThat(parse(text).data().asksForLogin()).isFalse();
        }
        Deployment sentinels = parse("redis-sentinel://a/m").credentials(provider);
        assertThat(sentinels.servers()).noneMatch(RedisUri::asksForLogin);
        assertThat(sentinels.data().asksForLogin()).isTrue();
        assertThatThrownBy(() -> parse("redis://:p@a").credentials(provider))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("redis://a:6379 names a password, but a credentials provider is also set");
    }

    @Test
    void anotherPlaceForTheLocksIsOneForAllDataServers() {
        KeyLayout elsewhere = KeyLayout.of("app:{*}");
        Deployment moved = parse("redis-replicated://:p@a,b/2").keys(elsewhere);
        assertThat(moved.keys()).isEqualTo(elsewhere);
        assertThat(moved.servers()).allMatch(server -> server.keys().equals(elsewhere));
        assertThat(moved).hasToString("redis-replicated://a:6379,b:6379/2");
        assertThat(moved.servers().get(1).hasPassword()).isTrue();
        assertThat(parse("redis-sentinel://a/m")
                        .keys(elsewhere)
                        .servers()
                        .get(0)
                        .keys())
                .isEqualTo(KeyLayout.standard());
        assertThat(parse("redis://a?keys=app:{*}").keys()).isEqualTo(elsewhere);
    }

    /** As with a client library that names the master: it is asked repeatedly, with any key layout. */
    @Test
    void aMasterThatAClientNamesIsAskedOfTheClient() {
        Supplier<RedisUri> client = () -> RedisUri.parse(StoreUri.parse("rediss://a:7/3"));
        Deployment where = Deployment.named(client);
        assertThat(where.kind()).isEqualTo(Deployment.Kind.SENTINEL);
        assertThat(where).hasToString("rediss-sentinel://a:7/3");
        assertThat(where.servers()).extracting(RedisUri::address).containsExactly("a:7");
        assertThat(where.namingClient()).isSameAs(client);
        assertThat(where.keys(KeyLayout.of("app:{*}")).namingClient()).isSameAs(client);
        assertThat(where.credentials(() -> null).namingClient()).isSameAs(client);
        assertThat(parse("redis-sentinel://a/m").namingClient()).isNull();
    }

    @Test
    void theRightsAreThoseThatTheDeploymentNeeds() {
        assertThat(parse("redis://a").rights()).doesNotContain("+wait", "cluster");
        assertThat(parse("redis://a?waitReplicas=1").rights()).endsWith(" +wait");
        assertThat(parse("redis-sentinel://a/m?toldAtOnce=true").rights()).endsWith(" +client|tracking");
        assertThat(parse("redis-sentinel://a/m").toldAtOnce().rights()).endsWith(" +client|tracking");
        assertThat(parse("redis-replicated://a,b")
                        .toldAtOnce()
                        .keys(KeyLayout.of("app:{*}"))
                        .isToldAtOnce())
                .isTrue();
        assertThatThrownBy(() -> parse("redis-cluster://a").toldAtOnce())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("one master");
        assertThat(parse("redis-cluster://a").rights()).endsWith(Deployment.RIGHTS_IN_CLUSTER);
        assertThat(parse("redis-cluster://a?keys=app:{*}").rights())
                .startsWith(KeyLayout.of("app:{*}").keyRights());
    }

    @Test
    void everyKindHasASchemeForTls() {
        assertThat(Deployment.schemes())
                .containsExactlyInAnyOrder(
                        "redis",
                        "rediss",
                        "redis-replicated",
                        "rediss-replicated",
                        "redis-sentinel",
                        "rediss-sentinel",
                        "redis-cluster",
                        "rediss-cluster");
    }

    /** A parameter without a value has no value; its name does not count as one. */
    @Test
    void aSentinelsParameterWithoutAValueIsEmpty() {
        assertThatThrownBy(() -> parse("redis-sentinel://a/m?sentinelPassword"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("needs a password");
        assertThatThrownBy(() -> parse("redis-sentinel://a/m?sentinelTls"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("sentinelTls= must be true or false");
        assertThat(parse("redis-sentinel://a/m?sentinelUser").servers().get(0).hasPassword())
                .isFalse();
    }

    /** Of the settings of the data servers, Sentinels get only the certificates, and only with TLS. */
    @Test
    void sentinelsGetNoSettingsOfTheDataServers() {
        Deployment where = parse("rediss-sentinel://a/m?waitReplicas=2&ca=/x.pem&keys=app:{*}");
        RedisUri sentinel = where.servers().get(0);
        assertThat(sentinel.certificates()).isEqualTo("/x.pem");
        assertThat(sentinel.acknowledgement()).isEqualTo(Acknowledgement.NONE);
        assertThat(sentinel.keys()).isEqualTo(KeyLayout.standard());
        assertThat(where.acknowledgement()).isEqualTo(new Acknowledgement(2, 100));
        assertThat(parse("rediss-sentinel://a/m?sentinelTls=false&ca=/x.pem")
                        .servers()
                        .get(0)
                        .certificates())
                .isNull();
    }

    /** The rule of the single-server form, in the message for the whole URI. */
    @Test
    void theRuleOfAPartIsToldOnceAndWithTheFormOfTheWhole() {
        assertThatThrownBy(() -> parse("redis-replicated://a,b:x"))
                .hasMessage("store URI \"redis-replicated://a,b:x\": port \"x\" must be a number from 1 to 65535");
        assertThatThrownBy(() -> parse("redis-replicated://a,"))
                .hasMessage("store URI \"redis-replicated://a,\": \"\" is no host; write redis-replicated://"
                        + "[[user]:password@]master[:port],replica[:port],…[/database]");
        assertThatThrownBy(() -> parse("redis-cluster://a,"))
                .hasMessageEndingWith("is no host; write redis-cluster://[[user]:password@]node[:port],…");
    }

    @Test
    void errorsNameTheDeploymentAndSayFromWhereTheLoginIs() {
        Deployment one = Deployment.of(RedisUri.parse(StoreUri.parse("redis://a:7/3")));
        assertThat(one.kind()).isEqualTo(Deployment.Kind.SINGLE);
        assertThat(one).hasToString("redis://a:7/3");
        assertThat(parse("rediss://a:7/3")).hasToString("rediss://a:7/3");
        ServerRefusal refused = new ServerRefusal("WRONGPASS invalid", null);
        assertThat(one.errors().of(refused, "log in").error())
                .hasMessageContaining("redis://a:7/3")
                .hasMessageContaining("the user and password of the store URI");
        assertThat(one.credentials(() -> null).errors().of(refused, "log in").error())
                .hasMessageContaining("redis://a:7/3")
                .hasMessageNotContaining("of the store URI");
        ServerRefusal forbidden =
                new ServerRefusal("NOPERM this user has no permissions to run the 'eval' command", null);
        assertThat(parse("redis-cluster://a?keys=jobs:*")
                        .credentials(() -> null)
                        .errors()
                        .of(forbidden, "acquire")
                        .error())
                .as("the rights are those of the deployment, from wherever the login is")
                .hasMessageContaining("~jobs:*")
                .hasMessageContaining("+cluster|slots");
    }
}
