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
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of the calls that are sent together, of their form, and of their answers. Everything happens on the test's
 * thread, one step at a time.
 */
@Tag("quick")
@Timeout(120)
final class StillCallsTest {

    private final StillWire wire = new StillWire();
    private final List<String> heard = new ArrayList<>();
    private final List<String> alone = new ArrayList<>();
    private final List<BiConsumer<@Nullable List<Object>, @Nullable Throwable>> aloneAnswers = new ArrayList<>();
    private final Set<String> unwanted = new HashSet<>();
    private @Nullable Throwable aloneThrows;
    private final JointCalls calls = calls(false);

    private JointCalls calls(boolean bySlot) {
        return new JointCalls(wire.connection, bySlot, (call, wanted, then) -> {
            Throwable now = aloneThrows;
            if (now instanceof Error error) {
                throw error;
            } else if (now instanceof RuntimeException exception) {
                throw exception;
            }
            alone.add(call.keys()[0] + (wanted.getAsBoolean() ? "" : " unwanted"));
            aloneAnswers.add(then);
        });
    }

    private void run(String lock) {
        run(calls, lock);
    }

    private void run(JointCalls over, String lock) {
        run(over, lock, (reply, error) -> heard.add(lock + " " + (reply != null ? reply : message(error))));
    }

    private static @Nullable String message(@Nullable Throwable error) {
        return error == null ? null : error.getMessage();
    }

    private void run(JointCalls over, String lock, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
        over.run(
                new ScriptCall(
                        LuaScript.ACQUIRE, new String[] {lock, lock + ":fence"}, new String[] {"all", "of", lock}),
                new ScriptCall.CommonCase(
                        LuaScript.ACQUIRE_FREE, LuaScript.ACQUIRE_MANY, new String[] {lock}, new String[] {"of " + lock
                        }),
                () -> !unwanted.contains(lock),
                then);
    }

    /** The first call is declined, so the lock counts as unusual afterwards. */
    private void declined(String lock) {
        run(lock);
        wire.words(wire.commands.size() - 1);
        wire.answers(0L);
        aloneAnswers.remove(0).accept(List.of("held", "9"), null);
        alone.clear();
        heard.clear();
    }

    private static List<String> one(String lock) {
        return List.of("EVALSHA", LuaScript.ACQUIRE_FREE.sha1(), "1", lock, "of " + lock);
    }

    private static List<String> whole(String lock) {
        return List.of("EVALSHA", LuaScript.ACQUIRE.sha1(), "2", lock, lock + ":fence", "all", "of", lock);
    }

    private static List<String> both(String script, String one, String other) {
        return List.of(script.length() == 40 ? "EVALSHA" : "EVAL", script, "2", one, other, "of " + one, "of " + other);
    }

    // ---- calls that are sent

    @Test
    void oneAloneLeavesAsItsCommonCase() {
        run("a");
        assertThat(wire.words(0)).isEqualTo(one("a"));
        wire.answers("7", "5");
        assertThat(heard).containsExactly("a [7, 5]");
        assertThat(alone).isEmpty();
    }

    @Test
    void whatIsThereWhenItIsWrittenLeavesTogetherAndNothingLater() {
        run("a");
        run("b");
        run("a");
        assertThat(wire.commands).as("a lock occurs once in a script").hasSize(2);
        assertThat(wire.words(0)).isEqualTo(both(LuaScript.ACQUIRE_MANY.sha1(), "a", "b"));
        run("c");
        wire.answers("7", "5", 1L, 1L);
        assertThat(heard).containsExactly("a [7, 5]", "b [7, 5]");
        assertThat(wire.words(0))
                .as("also those that came after the other was written")
                .hasSize(7);
        assertThat(wire.commands).hasSize(1);
    }

    @Test
    void aScriptIsFullAtItsBound() {
        for (int i = 0; i <= JointCalls.MAX_CALLS; i++) {
            run("n" + i);
        }
        assertThat(wire.commands).hasSize(2);
        assertThat(wire.words(0).get(2)).isEqualTo(Integer.toString(JointCalls.MAX_CALLS));
        assertThat(wire.words(1)).isEqualTo(one("n" + JointCalls.MAX_CALLS));
    }

    @Test
    void ofAClusterOnlyOneSlotLeavesTogether() {
        JointCalls ofCluster = calls(true);
        run(ofCluster, "{x}1");
        run(ofCluster, "{y}2");
        run(ofCluster, "{y}3");
        run(ofCluster, "{x}4");
        assertThat(wire.commands).hasSize(3);
        assertThat(wire.words(1)).isEqualTo(both(LuaScript.ACQUIRE_MANY.sha1(), "{y}2", "{y}3"));
    }

    /** Each key of a call that was sent separately, since a request for several locks names all of them. */
    @Test
    void whatHasLeftBesideKeepsLaterCallsAboutAllItsKeysBehindIt() {
        run("a");
        calls.haveLeft("b", "b:fence", "c", "c:fence");
        run("c");
        assertThat(wire.commands).hasSize(2);
        run("d");
        run("b");
        assertThat(wire.words(0)).isEqualTo(one("a"));
        assertThat(wire.words(1).subList(3, 6)).containsExactly("c", "d", "b");
    }

    /** A written batch records nothing more. */
    @Test
    void ofWhatWasWrittenNothingIsLeft() throws Exception {
        for (int i = 0; i < 100; i++) {
            run("a");
            wire.words(0);
            wire.answers("7", "5");
        }
        for (String field : List.of("unwritten", "open")) {
            var kept = JointCalls.class.getDeclaredField(field);
            kept.setAccessible(true);
            assertThat(kept.get(calls)).as(field).hasToString(field.equals("open") ? "{}" : "[]");
        }
    }

    // ---- answers

    @Test
    void whatIsDeclinedIsAskedWholeNowAndFromThenOnUntilItIsAsOthersAre() {
        run("a");
        wire.words(0);
        wire.answers(0L);
        assertThat(alone).containsExactly("a");
        aloneAnswers.remove(0).accept(List.of("held", "9"), null);
        assertThat(heard).containsExactly("a [held, 9]");
        run("a");
        assertThat(wire.words(0)).isEqualTo(whole("a"));
        wire.answers("held", "9");
        run("a");
        assertThat(wire.words(0)).as("it is held still").isEqualTo(whole("a"));
        wire.answers("7", "5");
        run("a");
        assertThat(wire.words(0)).as("it was free").isEqualTo(one("a"));
        wire.answers(0L);
        aloneAnswers.remove(0).accept(List.of("7", "5"), null);
        run("a");
        assertThat(wire.words(0)).as("it was free by then").isEqualTo(one("a"));
    }

    @Test
    void ofSeveralThoseThatWereDeclinedAreAskedAlone() {
        run("a");
        run("b");
        run("c");
        wire.words(0);
        wire.answers("7", "5", 0L, 1L, 0L);
        assertThat(heard).containsExactly("b [7, 5]");
        assertThat(alone).containsExactly("a", "c");
        aloneAnswers.forEach(then -> then.accept(null, new IOException("reset")));
        assertThat(heard).containsExactly("b [7, 5]", "a reset", "c reset");
        run("c");
        assertThat(wire.words(0)).isEqualTo(whole("c"));
        wire.answers("held", "9");
        run("b");
        assertThat(wire.words(0)).isEqualTo(one("b"));
    }

    @Test
    void aJointScriptThatIsRefusedIsAskedOneByOneAndOneThatIsLostIsNot() {
        run("a");
        run("b");
        wire.words(0);
        wire.fails(new RedisCommandExecutionException("OOM no"));
        assertThat(alone).containsExactly("a", "b");
        assertThat(heard).isEmpty();
        run("c");
        run("d");
        wire.words(0);
        wire.fails(new IOException("reset"));
        assertThat(alone).hasSize(2);
        assertThat(heard).containsExactly("c reset", "d reset");
        run("e");
        wire.words(0);
        wire.fails(new RedisCommandExecutionException("OOM no"));
        assertThat(heard).endsWith("e OOM no");
        assertThat(alone).hasSize(2);
    }

    @Test
    void aScriptThatIsNotKnownLeavesByItsTextForThoseThatStillWantIt() {
        run("a");
        run("b");
        run("c");
        wire.words(0);
        unwanted.add("b");
        wire.fails(new RedisNoScriptException("NOSCRIPT"));
        String givenUp = RedisConnection.givenUp().getMessage();
        assertThat(heard).containsExactly("b " + givenUp);
        assertThat(wire.words(0)).isEqualTo(both(LuaScript.ACQUIRE_MANY.text(), "a", "c"));
        wire.answers("7", "5", 1L, 1L);
        assertThat(heard).containsExactly("b " + givenUp, "a [7, 5]", "c [7, 5]");
        run("d");
        wire.words(0);
        wire.fails(new RedisNoScriptException("NOSCRIPT"));
        assertThat(wire.words(0)).startsWith("EVAL", LuaScript.ACQUIRE_FREE.text(), "1", "d");
        wire.answers("7", "5");
        declined("w");
        run("w");
        wire.words(0);
        wire.fails(new RedisNoScriptException("NOSCRIPT"));
        assertThat(alone).as("whole it goes by itself").containsExactly("w");
        unwanted.add("f");
        run("f");
        wire.words(0);
        wire.fails(new RedisNoScriptException("NOSCRIPT"));
        assertThat(wire.commands).isEmpty();
        assertThat(heard).contains("f " + givenUp);
    }

    /** Its undo may have been sent before. */
    @Test
    void whatIsGivenUpIsNotSentASecondTime() {
        run("a");
        run("b");
        wire.words(0);
        unwanted.addAll(Set.of("a", "b"));
        wire.answers("7", "5", 0L, 0L);
        assertThat(alone).isEmpty();
        String givenUp = RedisConnection.givenUp().getMessage();
        assertThat(heard).containsExactly("a " + givenUp, "b " + givenUp);
    }

    // ---- exceptions

    @Test
    void aCallerThatThrowsKeepsNobodyFromHearing() {
        for (Throwable thrown :
                List.of(new IllegalStateException("made by the test"), new AssertionError("made by the test"))) {
            heard.clear();
            run(calls, "a", (reply, error) -> {
                if (thrown instanceof Error serious) {
                    throw serious;
                }
                throw (RuntimeException) thrown;
            });
            run("b");
            wire.words(0);
            wire.answers("7", "5", 1L, 1L);
            assertThat(heard).containsExactly("b [7, 5]");
        }
    }

    @Test
    void aDriverThatThrowsIsToldToEachThatWasAboutToLeave() {
        for (Throwable thrown :
                List.of(new IllegalStateException("made by the test"), new NoClassDefFoundError("made by the test"))) {
            heard.clear();
            wire.thrown = thrown;
            run("a");
            assertThat(heard).containsExactly("a made by the test");
            run("b");
            run("c");
            wire.words(0);
            aloneThrows = thrown;
            wire.answers("7", "5", 0L, 0L);
            assertThat(heard).containsExactly("a made by the test", "b made by the test", "c made by the test");
            aloneThrows = null;
            run("d");
            assertThat(wire.words(0)).isEqualTo(one("d"));
            wire.answers("7", "5");
        }
    }

    // ---- memory of unusual locks

    @Test
    void theLocksThatOthersWantedAreRememberedUpToABound() {
        UnusualLocks unusual = new UnusualLocks();
        assertThat(unusual.isKnown("n0")).isFalse();
        for (int i = 0; i < UnusualLocks.MAX_LOCKS; i++) {
            unusual.add("n" + i);
        }
        assertThat(unusual.isKnown("n0")).isTrue();
        assertThat(unusual.isKnown("n1")).isTrue();
        unusual.add("one more");
        assertThat(unusual.isKnown("n0")).isFalse();
        assertThat(unusual.isKnown("one more")).isTrue();
    }

    @Test
    void onlyAGrantWhileNobodyElseWantedItMakesALockUsual() {
        UnusualLocks unusual = new UnusualLocks();
        unusual.add("a");
        for (List<Object> other : List.<List<Object>>of(
                List.of("held", "9"),
                List.of("7", "5", "woken"),
                List.of(7L, 5L),
                List.of("7"),
                List.of("", "5"),
                List.of("7x", "5"))) {
            unusual.heed("a", other);
            assertThat(unusual.isKnown("a")).as("%s", other).isTrue();
        }
        unusual.heed("a", null);
        assertThat(unusual.isKnown("a")).isTrue();
        unusual.heed("b", List.of("7", "5"));
        assertThat(unusual.isKnown("a")).isTrue();
        unusual.heed("a", List.of("1790", "5"));
        assertThat(unusual.isKnown("a")).isFalse();
    }
}
