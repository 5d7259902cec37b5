package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.RenewReply;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the requests for the durability of a server, and of renewals in several slots. */
@Tag("quick")
@Timeout(120)
final class DurabilityExchangesTest extends NodeExchanges {

    private static final String UNCHANGED = "cmdstat_config|get:calls=2,failed_calls=0\r\n";
    private static final String SET = UNCHANGED + "cmdstat_config|set:calls=1,failed_calls=0\r\n";
    private static final String REWRITTEN = UNCHANGED
            + "cmdstat_config|resetstat:calls=1,failed_calls=0\r\ncmdstat_config|rewrite:calls=1,failed_calls=0\r\n";

    private Link link;

    @BeforeEach
    void isDurable() {
        link = topology.everywhere().get(0);
        server.says(
                "CONFIG",
                command -> command.get(2).contains("append")
                        ? bulks("appendonly", "yes", "appendfsync", "always", "no-appendfsync-on-rewrite", "no")
                        : bulks("maxmemory-policy", "noeviction", "maxmemory", "0"));
        server.says("INFO COMMANDSTATS", bulk(UNCHANGED));
        server.says("INFO PERSISTENCE", bulk("aof_rewrite_in_progress:0\r\n"));
    }

    @Test
    void theSettingsOfBothAnswersAndTheirOriginCount() throws Exception {
        assertThat(answer(DurabilityCheck.of(link)))
                .isEqualTo(new DurabilityCheck(true, true, SettingsOrigin.START, null));
        server.says("INFO COMMANDSTATS", bulk(SET));
        assertThat(answer(DurabilityCheck.of(link)).origin()).isEqualTo(SettingsOrigin.CHANGED);
        server.says("INFO COMMANDSTATS", bulk(REWRITTEN));
        assertThat(answer(DurabilityCheck.of(link)).origin()).isEqualTo(SettingsOrigin.REWRITTEN);
        server.says("INFO PERSISTENCE", bulk("aof_last_bgrewrite_status:err\r\n"));
        assertThat(answer(DurabilityCheck.of(link)).origin()).isEqualTo(SettingsOrigin.BEING_WRITTEN);
    }

    /** Changes between the requests count. */
    @Test
    void theOriginIsAskedForAfterTheSettings() throws Exception {
        server.says("CONFIG", command -> {
            server.says("INFO COMMANDSTATS", bulk(SET));
            return command.get(2).contains("append")
                    ? bulks("appendonly", "yes", "appendfsync", "always", "no-appendfsync-on-rewrite", "no")
                    : bulks("maxmemory-policy", "noeviction", "maxmemory", "0");
        });
        assertThat(answer(DurabilityCheck.of(link)).durable()).isFalse();
    }

    /** A missing right is an answer; a temporary refusal is not. */
    @Test
    void onlyARefusedRightIsAnAnswer() throws Exception {
        for (String refused : List.of("append", "maxmemory")) {
            server.says(
                    "CONFIG",
                    command -> command.get(2).contains(refused)
                            ? "-NOPERM this user has no permissions to run the 'config|get' command\r\n"
                            : bulks("maxmemory-policy", "noeviction"));
            assertThat(answer(DurabilityCheck.of(link))).as(refused).isEqualTo(DurabilityCheck.UNREADABLE);
        }
        server.says("CONFIG", array(List.of()));
        assertThat(answer(DurabilityCheck.of(link)))
                .as("as some services answer")
                .isEqualTo(DurabilityCheck.UNREADABLE);
        server.says("CONFIG", "-LOADING Redis is loading the dataset in memory\r\n");
        assertThatThrownBy(() -> answer(DurabilityCheck.of(link)))
                .hasCauseInstanceOf(ServerRefusal.class)
                .hasMessageContaining("LOADING");
        isDurable();
        server.says("INFO COMMANDSTATS", "-LOADING Redis is loading the dataset in memory\r\n");
        assertThatThrownBy(() -> answer(DurabilityCheck.of(link))).hasMessageContaining("LOADING");
    }

    @Test
    void theOriginIsNotKnownBeforeBothOfItsAnswersHaveCome() throws Exception {
        server.says("INFO PERSISTENCE", ScriptedRedis.SILENCE);
        CompletableFuture<DurabilityCheck> asked = DurabilityCheck.of(link);
        until("it is requested", () -> server.asked("INFO PERSISTENCE") == 1);
        assertThat(asked).isNotDone();
        server.say("INFO", bulk("aof_rewrite_in_progress:0\r\n"));
        assertThat(answer(asked).durable()).isTrue();
    }

    // ---- renewals of several slots

    /** No script may use keys of two slots. */
    @Test
    void whatLiesInTwoSlotsIsRenewedByTwoScripts() throws Exception {
        Topology slots = (Topology) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Topology.class},
                (self, method, arguments) -> method.getName().equals("slotTag")
                        ? String.valueOf(arguments[0].toString().contains("n1"))
                        : method.invoke(topology, arguments));
        RedisNode node = new RedisNode("the node", settings(false), slots, where.errors(), runtime);
        scripts.put(LuaScript.RENEW.sha1(), command -> array(List.of(":" + command.get(2) + "\r\n")));
        assertThat(answer(node.renew(renewals(3))).items()).hasOnlyElementsOfType(RenewReply.Renewed.class);
        String second = settings(false).keys().lock(LockName.of("n1"));
        assertThat(ran(LuaScript.RENEW)).hasSize(2);
        assertThat(ran(LuaScript.RENEW).stream().filter(sent -> sent.get(0).equals(second)))
                .singleElement()
                .satisfies(sent -> assertThat(sent).hasSize(3));
    }
}
