package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Acknowledged;
import io.leasehold.redis.topology.Acknowledgement;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of a grant that too few replicas have acknowledged. */
@Tag("quick")
final class WaitAcksTest {

    private static final Incarnation LIFE = new Incarnation("life");
    private static final NodeReply YES = new NodeReply.Yes(LIFE, 17);

    private static NodeReply judged(boolean member, NodeReply reply, long replicas) {
        RedisErrors errors = new RedisErrors("redis://h:1");
        NodeSettings settings = member
                ? NodeSettings.ofMember(RedisGuarantees.single(false))
                : NodeSettings.standard(RedisGuarantees.single(false));
        Requests requests = new Requests(nothing(Topology.class), errors, nothing(LockRuntime.class));
        return new WaitAcks(requests, errors, settings.acknowledged(new Acknowledgement(2, 300)))
                .judged(reply, new Acknowledged(List.of("yes"), replicas), "acquire lock \"x\"");
    }

    private static <T> T nothing(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    throw new AssertionError(method);
                }));
    }

    @Test
    void whatEnoughReplicasHaveIsAGrant() {
        for (boolean member : new boolean[] {true, false}) {
            assertThat(judged(member, YES, 2)).isSameAs(YES);
            assertThat(judged(member, YES, 3)).isSameAs(YES);
            NodeReply stale = new NodeReply.Stale(5, LIFE, 17);
            assertThat(judged(member, stale, 0)).isSameAs(stale);
        }
    }

    /** Its owner token is spent: the server may have granted it, so it is undone and not used again. */
    @Test
    void whatTooFewHaveIsRefusedForNow() {
        assertThat(judged(false, YES, 1))
                .isEqualTo(new NodeReply.Refused(
                        "only 1 of 2 replicas acknowledged it within 300 ms (waitReplicas, waitTimeout)",
                        50_000_000,
                        LIFE,
                        17,
                        true));
    }

    /** A vote that the server may have given but that does not count. */
    @Test
    void atAMemberItIsAVoteThatIsUndone() {
        assertThat(judged(true, YES, 1)).isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.error())
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("cannot acquire lock \"x\": only 1 of 2 replicas");
        });
    }
}
