package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Leasehold;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The failures that receive the frames of the calling thread. */
@Tag("quick")
@Timeout(60)
final class CallersStackTest {

    private static StackTraceElement frame(String method) {
        return new StackTraceElement("some.Driver", method, "Driver.java", 7);
    }

    /** A failure that was created on this thread, with these frames. */
    private static IllegalStateException with(StackTraceElement... frames) {
        IllegalStateException failure = new IllegalStateException("made by the test");
        failure.setStackTrace(frames);
        return failure;
    }

    /** The frames from the caller of this method on. */
    private static StackTraceElement[] here() {
        StackTraceElement[] frames = new Throwable().getStackTrace();
        return Arrays.copyOfRange(frames, 1, frames.length);
    }

    private static void isGivenTheFramesOf(String caller, IllegalStateException failure, StackTraceElement[] made) {
        assertThat(failure.getStackTrace()[0].getMethodName()).isEqualTo(caller);
        assertThat(failure.getSuppressed())
                .singleElement()
                .isInstanceOf(CallersStack.MadeElsewhere.class)
                .satisfies(elsewhere -> assertThat(elsewhere.getStackTrace()).isEqualTo(made));
    }

    @Test
    void aFailureOfAnotherThreadGetsTheCallersFramesOnceAndKeepsItsOwn() {
        StackTraceElement[] made = {frame("answer"), frame("run")};
        IllegalStateException failure = with(made);
        assertThat(CallersStack.given(failure)).isSameAs(failure);
        isGivenTheFramesOf("aFailureOfAnotherThreadGetsTheCallersFramesOnceAndKeepsItsOwn", failure, made);
        failure.setStackTrace(new StackTraceElement[] {frame("again")});
        assertThat(CallersStack.given(failure).getSuppressed())
                .as("the first frames are those of the failure")
                .hasSize(1);
    }

    /** A store that is opened in the background reports its last failure to all callers. */
    @Test
    void aFailureThatSeveralCallersReceiveIsCopiedForEach() {
        List<NodeVote> votes = List.of(new NodeVote("n", NodeVote.Answer.FAILED, ""));
        IOException cause = new IOException("Connection refused");
        IllegalStateException closing = new IllegalStateException("not closed");
        for (LockStoreException failure : List.of(
                new LockStoreException("message", votes, cause),
                new StoreUnavailableException("message", votes, cause),
                new StoreAccessException("message", votes, cause),
                new UnsafeStoreException("message", votes, cause),
                new AmbiguousAcquireException("message", votes, cause))) {
            StackTraceElement[] made = {frame("answer"), frame("run")};
            failure.setStackTrace(made);
            failure.addSuppressed(closing);

            LockStoreException one = toOneCaller(failure);
            StackTraceElement[] framesOfOne = one.getStackTrace();
            LockStoreException other = toAnotherCaller(failure);

            assertThat(failure.getStackTrace()).isEqualTo(made);
            assertThat(failure.getSuppressed()).containsExactly(closing);
            assertThat(one.getStackTrace()).as("the first caller's frames").isEqualTo(framesOfOne);
            assertThat(framesOfOne[0].getMethodName()).isEqualTo("toOneCaller");
            assertThat(other.getStackTrace()[0].getMethodName()).isEqualTo("toAnotherCaller");
            for (LockStoreException copy : List.of(one, other)) {
                assertThat(copy)
                        .isExactlyInstanceOf(failure.getClass())
                        .hasMessage("message")
                        .cause()
                        .isSameAs(cause);
                assertThat(copy.votes()).isEqualTo(votes);
                assertThat(copy.getSuppressed()).hasSize(2).startsWith(closing);
                assertThat(copy.getSuppressed()[1].getStackTrace()).isEqualTo(made);
            }
        }
    }

    private static LockStoreException toOneCaller(LockStoreException failure) {
        return CallersStack.given(failure);
    }

    private static LockStoreException toAnotherCaller(LockStoreException failure) {
        return CallersStack.given(failure);
    }

    @Test
    void aFailureOfAnotherTypeKeepsTheFramesOfItsFirstCaller() {
        LockStoreException failure = new LockStoreException("message", null) {
            private static final long serialVersionUID = 1L;
        };
        failure.setStackTrace(new StackTraceElement[] {frame("answer")});

        assertThat(toOneCaller(failure)).isSameAs(failure);
        assertThat(toAnotherCaller(failure)).isSameAs(failure);

        assertThat(failure.getStackTrace()[0].getMethodName()).isEqualTo("toOneCaller");
        assertThat(failure.getSuppressed()).hasSize(1);
    }

    /** The store of the application may throw the same exception at every opening. */
    @Test
    void aRefusalOfConnectIsCopiedToo() {
        UnsafeStoreException refusal = new UnsafeStoreException("too weak", null);
        StackTraceElement[] made = {frame("open")};
        refusal.setStackTrace(made);
        assertThatThrownBy(() -> Leasehold.builder()
                        .store(world -> {
                            throw refusal;
                        })
                        .connect())
                .isExactlyInstanceOf(UnsafeStoreException.class)
                .hasMessage("too weak")
                .isNotSameAs(refusal)
                .satisfies(told -> assertThat(told.getStackTrace())
                        .extracting(StackTraceElement::getMethodName)
                        .anyMatch(method -> method.contains("aRefusalOfConnectIsCopiedToo")));
        assertThat(refusal.getStackTrace()).isEqualTo(made);
    }

    /**
     * The failure to connect to an unreachable store shows the call and one line of cause, and no frames of the driver.
     */
    @Test
    void aConnectToAStoreThatIsDownShowsTheCallAndOneLineOfCause() {
        IOException root = new IOException("Connection refused");
        StoreUnavailableException down = new StoreUnavailableException(
                "cannot be reached", new CompletionException(new IllegalStateException(root)));
        down.setStackTrace(new StackTraceElement[] {frame("answer"), frame("run")});
        assertThatThrownBy(() -> Leasehold.builder()
                        .store(world -> {
                            throw down;
                        })
                        .connect())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("cannot be reached")
                .hasNoSuppressedExceptions()
                .satisfies(told -> assertThat(told.getStackTrace())
                        .extracting(StackTraceElement::getMethodName)
                        .anyMatch(method -> method.contains("aConnectToAStoreThatIsDown"))
                        .doesNotContain("answer"))
                .cause()
                .isSameAs(root)
                .hasNoCause()
                .satisfies(cause -> assertThat(cause.getStackTrace()).isEmpty());
    }

    /** An example is a fault in the application's own credentials provider, which needs its frames. */
    @Test
    void aCauseThatIsNotTheNetworkStaysWhole() {
        IllegalStateException fault = new IllegalStateException("made by the test");
        StackTraceElement[] frames = fault.getStackTrace();
        CompletionException cause = new CompletionException(fault);

        StoreUnavailableException told = CallersStack.brief(new StoreUnavailableException("no credentials", cause));

        assertThat(told).hasMessage("no credentials").hasCause(cause);
        assertThat(told.getCause()).isSameAs(cause);
        assertThat(fault.getStackTrace()).isEqualTo(frames).isNotEmpty();
    }

    /**
     * The failures of the clean-up are reported, too, but not the place where the failure was created. Circular causes
     * end.
     */
    @Test
    void whatWentWrongAtTheCleanUpStays() {
        Exception first = new Exception("first");
        Exception second = new Exception("second", first);
        first.initCause(second);
        StoreUnavailableException down = new StoreUnavailableException("cannot be reached", first);
        IllegalStateException closing = new IllegalStateException("not closed");
        down.addSuppressed(new CallersStack.MadeElsewhere(new StackTraceElement[] {frame("answer")}));
        down.addSuppressed(closing);

        StoreUnavailableException told = CallersStack.brief(down);

        assertThat(told.getSuppressed()).containsExactly(closing);
        assertThat(told.getCause()).isIn(first, second);
    }

    @Test
    void aFailureOfThisCallPathIsLeftAsItIs() {
        IllegalStateException failure = new IllegalStateException("made by the test");
        StackTraceElement[] made = failure.getStackTrace();
        assertThat(CallersStack.given(failure)).isSameAs(failure);
        assertThat(failure).hasNoSuppressedExceptions();
        assertThat(failure.getStackTrace()).isEqualTo(made);
    }

    @Test
    void aFailureWithoutFramesGetsSomeAndHasNoneToKeep() {
        IllegalStateException failure = CallersStack.given(with());
        assertThat(failure).hasNoSuppressedExceptions();
        assertThat(failure.getStackTrace()[0].getMethodName())
                .isEqualTo("aFailureWithoutFramesGetsSomeAndHasNoneToKeep");
    }

    @Test
    void theCallPathIsComparedFrameByFrame() {
        String me = "theCallPathIsComparedFrameByFrame";
        int length = here().length;
        for (int changed = 0; changed < length; changed++) {
            StackTraceElement[] made = here();
            made[changed] = frame("other");
            IllegalStateException failure = CallersStack.given(with(made));
            isGivenTheFramesOf(me, failure, made);
        }
        StackTraceElement[] whole = here();
        StackTraceElement[] callersOnly = Arrays.copyOfRange(whole, 1, whole.length);
        isGivenTheFramesOf(me, CallersStack.given(with(callersOnly)), callersOnly);
        StackTraceElement own = whole[0];
        StackTraceElement[] otherMethod = here();
        otherMethod[0] = new StackTraceElement(own.getClassName(), "other", own.getFileName(), 7);
        isGivenTheFramesOf(me, CallersStack.given(with(otherMethod)), otherMethod);
        StackTraceElement[] otherLine = here();
        otherLine[0] = new StackTraceElement(own.getClassName(), own.getMethodName(), own.getFileName(), 7);
        assertThat(CallersStack.given(with(otherLine)))
                .as("another line of the same call")
                .hasNoSuppressedExceptions();
    }

    @Test
    void aThreadsFirstFrameIsACallPath() {
        CompletableFuture<IllegalStateException> given = new CompletableFuture<>();
        Thread thread = new Thread() {
            @Override
            public void run() {
                IllegalStateException own = new IllegalStateException("made by the test");
                given.complete(CallersStack.given(own));
            }
        };
        thread.start();
        IllegalStateException own = given.join();
        assertThat(own).hasNoSuppressedExceptions();
        assertThat(own.getStackTrace()).hasSize(1);
    }
}
