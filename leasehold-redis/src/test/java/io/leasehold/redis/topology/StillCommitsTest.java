package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ScriptCall;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the scripts that share a WAIT and of their answers. Everything happens on the test's thread. */
@Tag("quick")
@Timeout(120)
final class StillCommitsTest {

    private final StillWire wire = new StillWire();
    private final GroupCommit commits = new GroupCommit(wire.connection, wire.ended::add, new Acknowledgement(2, 70));
    private final List<String> heard = new ArrayList<>();
    private final Set<String> unwanted = new HashSet<>();

    private void run(String key) {
        commits.run(
                new ScriptCall(LuaScript.INSPECT, new String[] {key}, new String[] {"argument"}),
                () -> !unwanted.contains(key),
                (answer, error) -> heard.add(key + " " + said(answer, error)));
    }

    private static String said(@Nullable Acknowledged answer, @Nullable Throwable error) {
        return answer != null
                ? answer.reply().get(0) + " " + answer.replicas()
                : String.valueOf(error == null ? null : error.getMessage());
    }

    private List<String> keys() {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < wire.commands.size(); i++) {
            List<String> words = wire.words(i);
            keys.add(words.get(0).equals("WAIT") ? String.join(" ", words) : words.get(0) + " " + words.get(3));
        }
        return keys;
    }

    @Test
    void aScriptAndItsWaitLeaveTogether() {
        run("a");
        assertThat(wire.words(0)).containsExactly("EVALSHA", LuaScript.INSPECT.sha1(), "1", "a", "argument");
        assertThat(wire.words(1)).containsExactly("WAIT", "2", "70");
        wire.answers("free");
        assertThat(heard)
                .as("nothing is reported before the replicas have had their time")
                .isEmpty();
        wire.answers(3L);
        assertThat(heard).containsExactly("a free 3");
        run("b");
        assertThat(keys()).containsExactly("EVALSHA b", "WAIT 2 70");
    }

    @Test
    void whatGathersLeavesOnceWithOneWaitForAll() {
        run("a");
        run("b");
        run("c");
        assertThat(keys()).containsExactly("EVALSHA a", "WAIT 2 70");
        wire.answers("free");
        wire.answers(1L);
        assertThat(keys()).containsExactly("EVALSHA b", "EVALSHA c", "WAIT 2 70");
        wire.answers("held");
        wire.fails(new RedisCommandExecutionException("OOM no"));
        wire.answers(2L);
        assertThat(heard).containsExactly("a free 1", "b held 2", "c OOM no");
        assertThat(wire.commands).as("each leaves once").isEmpty();
    }

    @Test
    void aWaitThatFailsCountsForNoReplicaAndTheNextGoesOn() {
        run("a");
        run("b");
        wire.answers("free");
        wire.fails(new RedisCommandExecutionException("NOPERM no WAIT"));
        assertThat(heard).containsExactly("a free 0");
        assertThat(keys()).containsExactly("EVALSHA b", "WAIT 2 70");
    }

    @Test
    void whatTheServerDoesNotKnowLeavesByItsTextBeforeWhatHasGathered() {
        run("a");
        run("b");
        wire.fails(new RedisNoScriptException("NOSCRIPT"));
        wire.answers(1L);
        assertThat(wire.words(0)).containsExactly("EVAL", LuaScript.INSPECT.text(), "1", "a", "argument");
        assertThat(keys()).containsExactly("EVAL a", "EVALSHA b", "WAIT 2 70");
        wire.fails(new RedisNoScriptException("NOSCRIPT"));
        wire.answers("free");
        wire.answers(1L);
        assertThat(heard).containsExactly("b free 1");
        assertThat(keys()).containsExactly("EVAL a", "WAIT 2 70");
    }

    /** The undo of each may have been sent before. */
    @Test
    void allThatWasGivenUpMeanwhileIsToldAndDoesNotLeave() {
        run("a");
        run("b");
        run("c");
        run("d");
        unwanted.addAll(Set.of("b", "d"));
        wire.answers("free");
        wire.answers(1L);
        String givenUp = " " + RedisConnection.givenUp().getMessage();
        assertThat(heard).containsExactly("a free 1", "b" + givenUp, "d" + givenUp);
        assertThat(keys()).containsExactly("EVALSHA c", "WAIT 2 70");
        run("e");
        unwanted.add("e");
        wire.answers("free");
        wire.answers(1L);
        assertThat(heard).endsWith("c free 1", "e" + givenUp);
        run("f");
        assertThat(keys()).as("nothing is waited for").containsExactly("EVALSHA f", "WAIT 2 70");
    }

    /** As if the driver's threads had ended. */
    @Test
    void aDriverThatThrowsFailsTheScriptAndNoneBehindIt() {
        for (Throwable thrown :
                List.of(new IllegalStateException("made by the test"), new NoClassDefFoundError("made by the test"))) {
            heard.clear();
            wire.thrown = thrown;
            run("a");
            assertThat(heard).containsExactly("a made by the test");
            run("b");
            assertThat(keys()).containsExactly("EVALSHA b", "WAIT 2 70");
            run("c");
            wire.thrown = thrown;
            wire.answers("free");
            wire.answers(1L);
            assertThat(heard).containsExactly("a made by the test", "b free 1", "c made by the test");
        }
    }

    /** A callback that throws does not affect the others. */
    @Test
    void aCallerThatThrowsKeepsNobodyFromHearing() {
        run("a");
        commits.run(
                new ScriptCall(LuaScript.INSPECT, new String[] {"b"}, new String[0]), () -> true, (answer, error) -> {
                    throw new AssertionError("made by the test");
                });
        run("c");
        wire.answers("free");
        wire.answers(1L);
        run("d");
        wire.answers("free");
        wire.answers("free");
        wire.answers(1L);
        assertThat(heard).containsExactly("a free 1", "c free 1");
        assertThat(keys()).containsExactly("EVALSHA d", "WAIT 2 70");
    }

    @Test
    void whatIsLostIsLostForEach() {
        run("a");
        run("b");
        wire.fails(new IOException("reset"));
        wire.fails(new IOException("reset"));
        assertThat(heard).containsExactly("a reset");
        wire.fails(new IOException("closed"));
        wire.fails(new IOException("closed"));
        assertThat(heard).containsExactly("a reset", "b closed");
        commits.close();
        assertThat(wire.ended.size()).isOne();
        assertThat(wire.ended.get(0) == wire.connection).isTrue();
    }
}
