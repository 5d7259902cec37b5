package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.wire.KeyLayout;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Administrative operations: records of clients and a diagnosis, at a scripted server. */
@Tag("quick")
@Timeout(120)
final class OperationsStepsTest extends NodeExchanges {

    private static final String ID = "host/1/x";
    private static final String KEY = KeyLayout.client(ID);
    private static final ClientRecord RECORD =
            new ClientRecord(ID, "host", 1, "app", Instant.ofEpochMilli(5_000), List.of());

    @BeforeEach
    void answers() {
        server.says("SET", "+OK\r\n");
        server.says("CONFIG", command -> switch (command.get(2)) {
            case "maxmemory*" -> bulks("maxmemory", "0", "maxmemory-policy", "noeviction");
            case "*append*" -> bulks("appendonly", "yes", "appendfsync", "always");
            case "timeout" -> bulks("timeout", "3");
            case "min-replicas-*" -> bulks("min-replicas-to-write", "0");
            default -> bulks("client-output-buffer-limit", "pubsub 1 1 60");
        });
        long now = System.currentTimeMillis();
        server.says("TIME", bulks(Long.toString(now / 1_000), Long.toString(now % 1_000 * 1_000)));
    }

    private List<Finding> diagnosis(boolean member) throws Exception {
        return answer(node(settings(member)).operations().diagnose());
    }

    private static Finding finding(List<Finding> findings, String check) {
        return findings.stream()
                .filter(one -> one.check().equals(check))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aRecordIsKeptForItsTimeWithTheChannelOfItsClientAndReadBack() throws Exception {
        RedisNode node = node();
        assertThat(node.operations().keepsClientRecords()).isTrue();
        assertThat(answer(node.operations().announce(RECORD, TimeUnit.SECONDS.toNanos(16) + 1)))
                .isNull();
        assertThat(server.asked("SET " + KEY + " lock:wake:")).isOne();
        assertThat(server.channels()).isNotEmpty();
        assertThat(server.asked("SET " + KEY + " " + server.channels().get(0) + "\n" + RECORD.encoded() + " PX 16001"))
                .isOne();
        server.says("MGET", array(List.of(bulk("lock:wake:c\n" + RECORD.encoded()))));
        assertThat(answer(node.operations().client(ID))).contains(RECORD);
        server.says("MGET", array(List.of("$-1\r\n")));
        assertThat(answer(node.operations().client(ID))).isEmpty();
        server.says("MGET", array(List.of(bulk("a stranger's"))));
        assertThat(answer(node.operations().client(ID))).isEmpty();
        server.says("MGET", "-NOPERM no\r\n");
        assertThatThrownBy(() -> answer(node.operations().client(ID))).hasMessageContaining("record of a client");
    }

    /** The rights of its user cover only the keys of its locks. */
    @Test
    void whereLocksHaveKeysOfTheirOwnNoRecordIsReadOrKept() throws Exception {
        NodeSettings own = NodeSettings.standard(RedisGuarantees.single(false)).keys(KeyLayout.of("app:{*}"));
        RedisNode node = node(own);
        assertThat(node.operations().keepsClientRecords()).isFalse();
        assertThat(answer(node.operations().client(ID))).isEmpty();
        assertThat(server.asked("MGET")).isZero();
        assertThat(answer(node.operations().announce(RECORD, TimeUnit.SECONDS.toNanos(16))))
                .isNull();
        assertThat(server.asked("SET")).isZero();
    }

    @Test
    void aClientWhoseLockWasTakenIsToldOverItsOwnChannelAndOverNoOther() throws Exception {
        server.says("PUBLISH", ":1\r\n");
        RedisOperations operations = (RedisOperations) node().operations();
        server.says("MGET", array(List.of(bulk("lock:wake:c9\n" + RECORD.encoded()))));
        answer(operations.tellTaken(NAME, ID));
        assertThat(server.asked("PUBLISH lock:wake:c9")).isOne();
        for (String other : List.of("-\n" + RECORD.encoded(), "news\n" + RECORD.encoded(), "lock:wake:c9", "")) {
            server.says("MGET", array(List.of(bulk(other))));
            answer(operations.tellTaken(NAME, ID));
        }
        server.says("MGET", array(List.of("$-1\r\n")));
        answer(operations.tellTaken(NAME, ID));
        assertThat(server.asked("PUBLISH")).isOne();
        server.says("MGET", array(List.of(bulk("lock:wake:c9\n" + RECORD.encoded()))));
        String refused = logged(() -> {
            server.says("PUBLISH", "-NOPERM no\r\n");
            assertThat(answer(operations.tellTaken(NAME, ID)))
                    .as("nothing depends on it")
                    .isNull();
        });
        assertThat(refused).contains("WARN", "tell a holder");
        assertThat(logged(() -> {
                    server.says("PUBLISH", "-LOADING no\r\n");
                    answer(operations.tellTaken(NAME, ID));
                }))
                .as("that passes")
                .doesNotContain("tell a holder");
    }

    private interface Step {
        void run() throws Exception;
    }

    private static String logged(Step step) throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            step.run();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @Test
    void aServerGrantsSeveralLocksAtOnceWhoseKeysItServes() {
        RedisNode node = node();
        assertThat(node.guarantees()).isEqualTo(settings(false).guarantees());
        assertThat(node.isAtomicOver(List.of(NAME))).isTrue();
        assertThat(node.isAtomicOver(List.of(NAME, OTHER))).isTrue();
        List<LockName> most =
                IntStream.range(0, 100).mapToObj(i -> LockName.of("n" + i)).toList();
        assertThat(node.isAtomicOver(most)).isTrue();
        List<LockName> more = new ArrayList<>(most);
        more.add(NAME);
        assertThat(node.isAtomicOver(more))
                .as("one script does not take as many")
                .isFalse();
    }

    @Test
    void aDiagnosisReadsEachSettingAndTheClock() throws Exception {
        List<Finding> findings = diagnosis(false);
        assertThat(findings).extracting(Finding::check).contains("eviction", "persistence", "clock", "idle");
        assertThat(finding(findings, "eviction").grade()).isEqualTo(Finding.Grade.GOOD);
        assertThat(finding(findings, "idle").grade()).as("3 s").isNotEqualTo(Finding.Grade.GOOD);
        assertThat(finding(findings, "clock").grade()).isEqualTo(Finding.Grade.GOOD);
        assertThat(server.asked("CONFIG GET")).isEqualTo(5);
        long ahead = System.currentTimeMillis() + 60_000;
        server.says("TIME", bulks(Long.toString(ahead / 1_000), Long.toString(ahead % 1_000 * 1_000)));
        assertThat(finding(diagnosis(false), "clock").grade()).isNotEqualTo(Finding.Grade.GOOD);
    }

    @Test
    void aConfigurationThatMayNotBeReadIsAFindingAndASilentServerIsNot() throws Exception {
        server.says("CONFIG", "-NOPERM this user has no permissions to run the 'config|get' command\r\n");
        assertThat(finding(diagnosis(false), "config").grade()).isEqualTo(Finding.Grade.UNKNOWN);
        server.says("CONFIG", "-LOADING the dataset\r\n");
        assertThatThrownBy(() -> diagnosis(false)).hasMessageContaining("read its configuration");
    }
}
