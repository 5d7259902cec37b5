package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of the servers that each role refuses, and of the meaning of a Sentinel's refusal. */
@Tag("quick")
final class ExpectationTest {

    private static final RedisUri SERVER = RedisUri.parse(StoreUri.parse("redis://h:1"));

    private static ServerFacts facts(String... lines) {
        return ServerFacts.parse("run_id:x\r\nredis_version:7.0.9\r\n" + String.join("\r\n", lines));
    }

    private static void refuses(
            Set<Expectation> those, Class<? extends LockStoreException> type, String text, String... lines) {
        for (Expectation one : Expectation.values()) {
            if (those.contains(one)) {
                assertThatThrownBy(() -> one.refuseUnfit(SERVER, facts(lines)))
                        .as("%s", one)
                        .isExactlyInstanceOf(type)
                        .hasMessageStartingWith("redis://h:1 ")
                        .hasMessageContaining(text);
            } else {
                one.refuseUnfit(SERVER, facts(lines));
            }
        }
    }

    @Test
    void aServerHasToBeWhatItIsNamedAs() {
        Set<Expectation> alone = EnumSet.of(Expectation.SERVER, Expectation.NAMED_MASTER);
        Class<UnsafeStoreException> unsafe = UnsafeStoreException.class;
        refuses(alone, unsafe, "name it as redis-cluster://h:1", "cluster_enabled:1");
        refuses(
                EnumSet.of(Expectation.CLUSTER_NODE),
                unsafe,
                "is not a node of a Cluster (cluster-enabled no); name it as redis://h:1",
                "cluster_enabled:0");
        refuses(EnumSet.allOf(Expectation.class), unsafe, "name it as redis-sentinel://h:1/NAME", "sentinel_masters:1");
    }

    @ParameterizedTest
    @EnumSource(Expectation.class)
    void aServerHasToBeRecentEnough(Expectation one) {
        String mode = one == Expectation.CLUSTER_NODE ? "cluster_enabled:1" : "cluster_enabled:0";
        ServerFacts old = ServerFacts.parse("run_id:x\r\nredis_version:6.0.16\r\n" + mode);
        assertThatThrownBy(() -> one.refuseUnfit(SERVER, old))
                .isExactlyInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("runs Redis 6.0.16; Leasehold needs 6.2 or newer");
    }

    /** The server was demoted or is not promoted yet, so the client retries. */
    @Test
    void aReplicaIsRefusedByThePartItPlays() {
        ServerFacts replica = facts("role:slave", "master_host:p", "master_port:7");
        assertThatThrownBy(() -> Expectation.NAMED_MASTER.refuseUnfit(SERVER, replica))
                .isExactlyInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("is a replica now");
        Expectation.SERVER.refuseUnfit(SERVER, replica);
        Expectation.NAMED_MASTER.refuseUnfit(SERVER, facts("role:master"));
        assertThat(Expectation.SERVER.refusalOfRole(SERVER, replica))
                .isEqualTo("redis://h:1 is a replica, which takes no writes; name its primary, p:7");
        assertThat(Expectation.SERVER.refusalOfRole(SERVER, facts("role:slave")))
                .endsWith("name its primary");
        assertThat(Expectation.SERVER.refusalOfRole(SERVER, facts("role:master")))
                .isNull();
        assertThat(Expectation.NAMED_MASTER.refusalOfRole(SERVER, replica)).isNull();
        assertThat(Expectation.CLUSTER_NODE.refusalOfRole(SERVER, replica)).isNull();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "NOAUTH Authentication required | StoreAccessException      | requires a password: add sentinelUser",
                "WRONGPASS no such user         | StoreAccessException      | does not accept sentinelUser",
                "ERR invalid password           | StoreAccessException      | does not accept sentinelUser",
                "ERR AUTH without any password  | StoreAccessException      | does not accept sentinelUser",
                "NOPERM no                      | StoreAccessException      | ACL SETUSER <user> &+switch-master",
                "ERR unknown command 'SENTINEL' | UnsafeStoreException      | h:1 is no Sentinel; name a single server",
                "IDONTKNOW yet                  | StoreUnavailableException | cannot name the master: IDONTKNOW yet",
            })
    void whatASentinelRefuses(String words, String type, String text) {
        ServerRefusal thrown = new ServerRefusal(words, null);
        LockStoreException error = SentinelErrors.of(SERVER, words, thrown);
        assertThat(error.getClass().getSimpleName()).isEqualTo(type);
        assertThat(error).hasMessageContaining(text).hasMessageContaining("h:1").hasCause(thrown);
        String secret = words + ", with args beginning with: 'hunter2'";
        assertThat(SentinelErrors.of(SERVER, secret, thrown))
                .hasMessageNotContaining("hunter2")
                .hasNoCause();
    }
}
