package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.leasehold.Leasehold;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of redlock: URIs, and of the refusal of bad ones. */
@Tag("quick")
final class RedlockUriTest {

    private static RedlockUri parse(String text) {
        return RedlockUri.parse(StoreUri.parse(text));
    }

    @Test
    void nodesAreUrisOfTheirOwn() {
        RedlockUri uri = parse("redlock:?node=redis%3A%2F%2Fa%3A1&node=rediss%3A%2F%2Fu%3Ap%2540w%40b%3A2%2F3"
                + "%3Fdurable%3Dtrue%26name%3Dbee&maxTtl=10s&nodeTimeout=40ms");
        assertThat(uri.nodes()).extracting(RedlockUri.Node::name).containsExactly("redis://a:1", "bee");
        assertThat(uri.nodes()).extracting(RedlockUri.Node::durable).containsExactly(false, true);
        assertThat(uri.nodes().get(1).server()).hasToString("rediss://b:2/3");
        assertThat(uri.settings().maxTtl()).isEqualTo(Duration.ofSeconds(10));
        assertThat(uri.settings().nodeTimeoutFor(Duration.ofSeconds(30))).isEqualTo(Duration.ofMillis(40));
    }

    @Test
    void badInputIsRefusedWithTheRule() {
        refused("redlock:", "write redlock:?node=");
        refused(
                "redlock://one:1,two.example",
                "write redlock:?node=redis%3A%2F%2Fone%3A1&node=redis%3A%2F%2Ftwo.example%3A6379");
        refused("redlock://u:secret@one,two", "\"redlock://***@one,two\": write redlock:?node=redis%3A%2F%2Fa%3A6379&");
        refused("redlock:?maxTtl=soon&node=redis%3A%2F%2Fa", "maxTtl=soon is no duration");
        refused("redlock:?nodes=a", "unknown parameter \"nodes\"");
        refused("redlock:?node=memory%3A", "its scheme must be one of");
        refused("redlock:?node=redis-cluster%3A%2F%2Fa%3Fdurable%3Dtrue", "durable=true is for a single server");
        refused("redlock:?node=redis%3A%2F%2Fa%3Fdurable%3Dmaybe", "must be true or false");
        refused("redlock:?node=redis%3A%2F%2Fa%3FtoldAtOnce%3Dtrue", "toldAtOnce is for one server");
        refused("redlock:?node=redis%3A%2F%2Fa%3Fname%3Da%20b", "must be made of");
    }

    private static void refused(String uri, String why) {
        assertThatIllegalArgumentException().isThrownBy(() -> parse(uri)).withMessageContaining(why);
    }

    @Test
    void secretsAreNotRepeated() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("redlock:?node=redis%3A%2F%2F%3Asecret%40a%3A1%3Fdurable%3Dmaybe"))
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret"));
    }

    /** A node's URI that was not percent-encoded ends at the first & in it. */
    @Test
    void aNodeThatIsCutInItsPasswordIsNotRepeated() {
        for (String cut :
                new String[] {"hunter2&x@a", "x&hunter2@a", "x&hunter2=y@a", "hunter2&maxTtl=y@a", "hunter2&@a"}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> parse("redlock:?node=redis://u:" + cut))
                    .withMessageContaining("percent-encode the URI of each node")
                    .satisfies(e -> assertThat(e.getMessage()).doesNotContain("hunter2"));
        }
    }

    @Test
    void whatBelongsToTheSetIsTakenOutOfTheNode() {
        RedlockUri.Node node = RedlockUri.node("redis://:p@a?durable=false&tls=true&name=" + "n".repeat(128) + "&ca=x");
        assertThat(node.durable()).isFalse();
        assertThat(node.name()).hasSize(128);
        assertThat(node.server()).hasToString("rediss://a:6379");
        assertThat(RedlockUri.node("redis://a?durable=true").durable()).isTrue();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedlockUri.node("redis://a?name=" + "n".repeat(129)))
                .withMessageContaining("must be made of up to 128");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedlockUri.node("redis://a?keys=app:{*}"))
                .withMessageContaining("leave keys= out");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RedlockUri.node("redis://a?nope=1"))
                .withMessageContaining("unknown option \"nope\"");
    }

    @Test
    void aProxyIsDeclaredOrExcluded() {
        assertThat(RedlockUri.node("redis://a").lifeCheck()).isEqualTo(LifeCheck.CONNECTION_IF_DIRECT);
        assertThat(RedlockUri.node("redis://a?proxy=true&tls=true").lifeCheck()).isEqualTo(LifeCheck.INFO);
        assertThat(RedlockUri.node("redis://a?proxy=true").server()).hasToString("redis://a:6379");
        assertThat(RedlockUri.node("redis://a?proxy=false").lifeCheck()).isEqualTo(LifeCheck.CONNECTION);
        for (String wrong : new String[] {"proxy=", "proxy=yes", "durable=x=true"}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> RedlockUri.node("redis://a?" + wrong))
                    .withMessageContaining(wrong + " must be true or false");
        }
    }

    @Test
    void spansHaveUnits() {
        assertThat(parse("redlock:?maxTtl=2m&nodeTimeout=1s").settings().maxTtl())
                .isEqualTo(Duration.ofMinutes(2));
        refused("redlock:?maxTtl", "maxTtl= is no duration");
        refused("redlock:?=x&maxTtl=y", "maxTtl=y is no duration");
        refused("redlock:?node=%zz", "two hexadecimal digits");
    }

    @Test
    void nobodyThereIsSaidWithTheArithmetic() {
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        Leasehold.connect("redlock:?node=redis%3A%2F%2F127.0.0.1%3A1&node=redis%3A%2F%2F127.0.0.1%3A1"))
                .withMessageContaining("named twice");
    }
}
