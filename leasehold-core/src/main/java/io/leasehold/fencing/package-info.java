/**
 * Checks of fencing tokens at the resource. Code that guards a resource needs no other package of Leasehold.
 *
 * <p>A lease can end while its holder is paused and does not notice. Only the resource can refuse the holder's later requests,
 * and only if every request carries the holder's {@linkplain io.leasehold.Lease#fencingToken() fencing token}. The rule is one
 * line for exclusive leases: <em>a token that is smaller than the largest one seen is refused; an equal one is admitted</em>, since one holder may send many requests.
 *
 * <p>A token must be registered at <em>first contact, reads included</em>. If only writes were checked, a paused holder
 * and a newer holder could both read the same old value. If the old holder then writes before the newer one has
 * presented its token, an update is lost although every check was made.
 *
 * <p>Several <em>readers</em> may hold a lock at the same time. For them the resource keeps a second number, the largest
 * token of a writer ({@link io.leasehold.fencing.TokenPair}), and the caller says which kind of lease it has
 * ({@link io.leasehold.fencing.Access}). Without a kind it is a writer.
 *
 * <p>Leasehold implements the checks for a file, an SQL row and a service:
 *
 * <pre>{@code
 * FencedFile report = FencedFile.at(Path.of("report.txt"));
 * byte[] before = report.read(lease.fencingToken()).orElse(new byte[0]);
 * report.write(lease.fencingToken(), before);
 * }</pre>
 *
 * <ul>
 *   <li>{@link io.leasehold.fencing.FencedFile}: a file of this machine;
 *   <li>{@link io.leasehold.fencing.FencingGuard}: for any resource that can store a number next to its data;
 *   <li>{@link io.leasehold.fencing.FencingHeader}: the token as an HTTP header;
 *   <li>{@code SqlFencingGuard} in {@code leasehold-jdbc}: a row, in the caller's own transaction.
 *   <li>{@code RedisFencingGuard} in {@code leasehold-redis}: a Redis value.
 * </ul>
 */
@NullMarked
package io.leasehold.fencing;

import org.jspecify.annotations.NullMarked;
