package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import java.util.Arrays;
import java.util.List;
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
            })
    void readsAndDescribesWithoutSecrets(String text, String description) {
        assertThat(parse(text)).hasToString(description);
    }

    @Test
    void dataServersAndSentinelsHaveCredentialsOfTheirOwn() {
        Deployment where =
                parse("redis-sentinel://u:data@a,b/m?sentinelUser=w&sentinelPassword=wa%26tch&sentinelTls=true");

        var sentinel = where.servers().get(1).forDriver(java.time.Duration.ofSeconds(1), null);
        var data = where.data().at("h", 7).forDriver(java.time.Duration.ofSeconds(1), null);

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
        assertThat(parse("redis://a").acknowledgement().isWanted()).isFalse();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis-sentinel://a,b              | the name of the master is missing",
                "redis-sentinel://a/               | the name of the master is missing",
                "redis-sentinel://a,/m             | is no host",
                "redis-sentinel://a/m?sentinelUser=x | sentinelUser needs sentinelPassword",
                "redis-sentinel://a/m?sentinelTls=yes | sentinelTls=yes must be true or false",
                "redis-sentinel://a,a/m            | a:26379 is named twice",
                "redis-sentinel://a/m/x            | database \"x\"",
                "redis-cluster://a/1               | a Cluster has one database",
                "redis-cluster://a#m               | fragment",
                "redis-cluster://a:x               | port \"x\"",
                "redis-cluster:a                   | the scheme must be followed by //",
                "redis-cluster://a?sentinelUser=x  | unknown parameter \"sentinelUser\"",
                "redis-replicated://a,,b           | is no host",
                "redis-replicated://a,a:6379       | named twice",
                "redis://a?waitReplicas=0          | waitReplicas=0 must be a number from 1 to 99",
                "redis://a?waitTimeout=1s          | waitTimeout needs waitReplicas",
                "redis://a?waitReplicas=1&waitTimeout=0s | waitTimeout=0s must be a span from 1ms to 60s",
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
        RedisUri first = RedisUri.of(RedisURI.create("rediss://:hunter2@a:1"), KeyLayout.standard());
        RedisUri second = RedisUri.of(RedisURI.create("redis://b:2"), KeyLayout.standard());
        RedisUri withDatabase = RedisUri.of(RedisURI.create("redis://c:3/4"), KeyLayout.standard());

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
}
