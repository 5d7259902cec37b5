/**
 * The resource's side of a fencing token: code that guards a resource needs no other package of Leasehold.
 *
 * <p>A lease can end while its holder is paused and does not notice. Only the resource can refuse the holder's later requests,
 * and only if every request carries the holder's {@linkplain io.leasehold.Lease#fencingToken() fencing token}. The rule is one
 * line: <em>a token that is smaller than the largest one seen is refused; an equal one is admitted</em>, since one holder may send many requests.
 *
 * <p>A token has to be registered at <em>first contact, reads included</em>. If only writes were checked, a stopped holder
 * could have read an old value, a newer holder could have read it as well, and the old one's write would come before the newer
 * one had presented its token: an update is lost although every check was made.
 *
 * <p>The checks for a file, an SQL row or a service are implemented:
 *
 * <pre>{@code
 * FencedFile report = FencedFile.at(Path.of("report.txt"));
 * byte[] before = report.read(lease.fencingToken()).orElse(new byte[0]);
 * report.write(lease.fencingToken(), before);
 * }</pre>
 *
 * <ul>
 *   <li>{@link io.leasehold.fencing.FencedFile}: a file of this machine;
 *   <li>{@link io.leasehold.fencing.FencingGuard}: for any resource that can store a number beside its data;
 *   <li>{@link io.leasehold.fencing.FencingHeader}: the token in HTTP;
 *   <li>{@code SqlFencingGuard} in {@code leasehold-jdbc}: a row, in the caller's own transaction.
 * </ul>
 */
@NullMarked
package io.leasehold.fencing;

import org.jspecify.annotations.NullMarked;
