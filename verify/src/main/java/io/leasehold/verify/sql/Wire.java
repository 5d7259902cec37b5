package io.leasehold.verify.sql;

import io.leasehold.spi.LockRuntime;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualLink;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.verify.sql.RowStore.Answer;
import io.leasehold.verify.sql.RowStore.Refused;
import io.leasehold.verify.sql.Statements.Op;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * One connection of a client to the server. Each statement is a request, for which the client's thread waits while the
 * world continues: anything may happen between two of them.
 */
final class Wire {

    /** The process at the client's end. */
    interface Client {
        VirtualRuntime process();

        /** Records that a fault has happened. */
        void saw(SqlFault fault);

        /** Records that the store has sent a statement that the model does not know: such a run proves nothing. */
        void modelFails(String why);

        /** Whether new connections are refused. */
        boolean isRefused();

        /** Called at a suspension point, on a thread of the process: may pause. */
        void mayPause(SqlFault point) throws SQLException;

        /** Draws whether a connection breaks now. */
        boolean draws(SqlFault reset);
    }

    private final Client client;
    private final VirtualRuntime process;
    private final SqlServer server;
    private final Flavour flavour;
    private final VirtualLink requests;
    private final VirtualLink replies;
    private final List<String> heard = new ArrayList<>();
    private @Nullable CompletableFuture<Answer> awaited;
    private @Nullable CompletableFuture<@Nullable Void> ear;
    private boolean broken;
    private boolean reset;
    private long numbered;
    int timeoutMillis;

    Wire(Client client, SqlServer server, Flavour flavour, LinkFaults faults) {
        this.client = client;
        this.process = client.process();
        this.server = server;
        this.flavour = flavour;
        this.requests = new VirtualLink(server.host);
        this.replies = new VirtualLink(process);
        requests.faults(faults);
        replies.faults(faults);
    }

    VirtualLink requests() {
        return requests;
    }

    VirtualLink replies() {
        return replies;
    }

    boolean isBroken() {
        return broken;
    }

    /** Opens it in both directions. */
    void open() throws SQLException {
        CompletableFuture<@Nullable Void> opened = new CompletableFuture<>();
        requests.send(() -> {
            if (!server.isDown() && !client.isRefused()) {
                server.accept(this);
                replies.send(() -> opened.complete(null));
            } else {
                replies.send(() -> opened.completeExceptionally(Flavour.lost()));
            }
        });
        LockRuntime.Timer limit = process.schedule(5_000_000_000L, () -> opened.completeExceptionally(Flavour.lost()));
        await(opened);
        limit.cancel();
        try {
            opened.join();
        } catch (CompletionException e) {
            close();
            throw Flavour.lost();
        }
    }

    /** Sends a statement, and waits for its reply. */
    Answer ask(Op op, @Nullable Object[] params, boolean autoCommit) throws SQLException {
        client.mayPause(SqlFault.PAUSE_BEFORE_STATEMENT);
        if (broken) {
            throw Flavour.lost();
        }
        CompletableFuture<Answer> reply = new CompletableFuture<>();
        awaited = reply;
        SqlServer.Request request =
                new SqlServer.Request(op, Arrays.asList(params.clone()), autoCommit, this, ++numbered);
        if (client.draws(SqlFault.RESET_BEFORE_STATEMENT)) {
            breakOff();
        } else {
            requests.send(() -> server.receive(request));
        }
        LockRuntime.Timer limit =
                timeoutMillis == 0 ? null : process.schedule(timeoutMillis * 1_000_000L, this::silent);
        await(reply);
        if (limit != null) {
            limit.cancel();
        }
        awaited = null;
        client.mayPause(SqlFault.PAUSE_AFTER_REPLY);
        Answer answer;
        try {
            answer = reply.join();
        } catch (CompletionException e) {
            throw Flavour.lost();
        }
        if (answer instanceof Refused refused) {
            throw flavour.error(refused.why());
        }
        return answer;
    }

    private void silent() {
        if (awaited != null && !awaited.isDone()) {
            client.saw(SqlFault.SILENCE);
            close();
        }
    }

    private void await(CompletableFuture<?> future) throws SQLException {
        try {
            process.await(future);
        } catch (InterruptedException e) {
            broken = true;
            throw Flavour.lost();
        }
    }

    /** Delivers the server's reply. */
    void reply(SqlServer.Request request, Answer answer) {
        boolean commits = request.op() == Op.COMMIT || (request.autoCommit() && request.op() == Op.ACQUIRE);
        if (!reset && client.draws(SqlFault.RESET_BEFORE_REPLY)) {
            if (commits) {
                client.saw(SqlFault.REPLY_OF_A_COMMIT_LOST);
            }
            reset = true;
            server.host.world().after(Duration.ZERO, () -> server.end(this));
            toldBroken();
            return;
        }
        replies.send(() -> {
            CompletableFuture<Answer> here = awaited;
            if (here != null && request.number() == numbered) {
                here.complete(answer);
            }
        });
    }

    /** Reports that the server has no such session. */
    void toldBroken() {
        replies.send(this::brokenHere);
    }

    /** Ends the connection at both ends. */
    private void breakOff() {
        requests.send(() -> server.end(this));
        process.execute(this::brokenHere);
    }

    private void brokenHere() {
        broken = true;
        CompletableFuture<Answer> here = awaited;
        if (here != null) {
            here.completeExceptionally(Flavour.lost());
        }
        CompletableFuture<@Nullable Void> listener = ear;
        if (listener != null) {
            listener.complete(null);
        }
    }

    /** Closes it from the client's end. */
    void close() {
        if (!broken) {
            requests.send(() -> server.end(this));
        }
        brokenHere();
    }

    void modelFails(String why) {
        client.modelFails(why);
    }

    /** Delivers a notification to this connection. */
    void tell(String payload) {
        replies.send(() -> {
            heard.add(payload);
            CompletableFuture<@Nullable Void> listener = ear;
            if (listener != null) {
                listener.complete(null);
            }
        });
    }

    /** Waits for notifications, and returns those since the last call. */
    List<String> next(int millis) throws SQLException {
        if (heard.isEmpty() && !broken) {
            CompletableFuture<@Nullable Void> something = new CompletableFuture<>();
            ear = something;
            LockRuntime.Timer limit = process.schedule(millis * 1_000_000L, () -> something.complete(null));
            await(something);
            limit.cancel();
            ear = null;
        }
        if (broken) {
            throw Flavour.lost();
        }
        List<String> told = new ArrayList<>(heard);
        heard.clear();
        return told;
    }
}
